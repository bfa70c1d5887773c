// Waiting for what must come, with a limit only for what does not.

/** Resolves with the first value that is there; `watch` calls back whenever it is worth looking again. */
export function until<T>(what: string, look: () => T | undefined | null | false, watch: (again: () => void) => () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let stop = (): void => {};
    const limit = setTimeout(() => {
      stop();
      reject(new Error(`waited 10 s for ${what}`));
    }, 10_000);
    const settle = (settled: () => void): void => {
      clearTimeout(limit);
      stop();
      settled();
    };
    const again = (): void => {
      try {
        const found = look();
        if (found !== undefined && found !== null && found !== false) settle(() => resolve(found));
      } catch (error) {
        settle(() => reject(error));
      }
    };
    stop = watch(again);
    again();
  });
}
