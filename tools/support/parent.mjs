// @ts-check

/**
 * Calls back once the process that started us is gone, if that was npm. When npm is told to end, only the shell that
 * it put between us gets the signal, and we would run on for ever.
 *
 * @param {() => void} onGone
 */
export function watchParent(onGone) {
  if (!process.env['npm_lifecycle_event']) return;
  const parent = process.ppid;
  const check = () => {
    if (process.ppid === parent) setTimeout(check, 300).unref();
    else onGone();
  };
  check();
}
