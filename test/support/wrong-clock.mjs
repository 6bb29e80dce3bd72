// @ts-check
//
// Loaded into a process (`NODE_OPTIONS=--import=…`), it makes the clock wrong like that of a machine: the file that
// WRONG_CLOCK names says by how many milliseconds, and can change at any time.
import { readFileSync } from 'node:fs';

const file = process.env['WRONG_CLOCK'] ?? '';
const RightDate = Date;
let aheadMs = 0;
const read = () => (aheadMs = Number(readFileSync(file, 'utf8')));

read();
setInterval(read, 20).unref();
globalThis.Date = new Proxy(RightDate, {
  construct: (date, given, target) =>
    Reflect.construct(date, given.length === 0 ? [date.now() + aheadMs] : given, target),
  get: (date, name) => (name === 'now' ? () => date.now() + aheadMs : Reflect.get(date, name)),
});
