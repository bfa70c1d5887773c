// Waiting for what must come, with a limit only for what does not.

/** Resolves with the first value that is there; `watch` calls back whenever it is worth looking again. */
export function until<T>(what: string, look: () => T | undefined | null | false, watch: (again: () => void) => () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let stop = (): void => {};
    const limit = setTimeout(() => {
      stop();
      reject(new Error(`waited 10 s for ${what}`));
    }, 10_000);
    const again = (): void => {
      const found = look();
      if (found === undefined || found === null || found === false) return;
      clearTimeout(limit);
      stop();
      resolve(found);
    };
    stop = watch(again);
    again();
  });
}
