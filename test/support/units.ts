import { readFileSync } from 'node:fs';

/** The values of a key in a unit for systemd, such as the commands of ExecReload, in their order. */
export function valuesIn(unit: string, key: string): string[] {
  const lines = readFileSync(unit, 'utf8').split('\n');
  return lines.filter((line) => line.startsWith(`${key}=`)).map((line) => line.slice(key.length + 1));
}
