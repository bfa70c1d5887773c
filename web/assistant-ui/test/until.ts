// Waits for a value that must arrive, with a deadline for the case that it does not.

/** Resolves with the first value that is available; `watch` calls back whenever there may be a new one. */
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
