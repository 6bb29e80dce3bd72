// @ts-check
import { readFileSync } from 'node:fs';

/** A tick of /proc in milliseconds; the kernel tells user space this figure, whatever its own is. */
const TICK_MS = 10;

/**
 * Resident memory of a process in MiB, now and the most that it ever was, where Linux tells it.
 *
 * @param {number} pid
 */
export function memoryMiB(pid) {
  const status = read(`/proc/${pid}/status`);
  const of = (/** @type {string} */ name) => {
    const kibibytes = new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)?.[1];
    return kibibytes === undefined ? null : Math.round(Number(kibibytes) / 1024);
  };
  return { resident: of('VmRSS'), peak: of('VmHWM') };
}

/**
 * Processor time that a process and its children have used, in milliseconds; NaN where there is no /proc. Unlike
 * throughput it hardly depends on what else runs on the machine.
 *
 * @param {number} pid
 * @returns {number}
 */
export function processorMs(pid) {
  const children = read(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean);
  // The command's name, in parentheses, may hold blanks; user and system time are the 12th and 13th field after it.
  const fields = read(`/proc/${pid}/stat`).split(') ').pop()?.split(' ') ?? [];
  const own = (Number(fields[11] ?? NaN) + Number(fields[12] ?? NaN)) * TICK_MS;
  return children.reduce((sum, child) => sum + processorMs(Number(child)), own);
}

/** @param {string} file @returns {string} */
function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
