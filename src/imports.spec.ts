import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';

const FOLDER = import.meta.dirname;

/** The files of `src`, each with the files that it imports, also for types. */
const IMPORTS = new Map(
  readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file): [string, string[]] => {
      const imports = readFileSync(path.join(FOLDER, file), 'utf8').matchAll(/ from '(\.[^']+)\.js'/g);
      return [file, Array.from(imports, ([, to = '']) => `${path.join(path.dirname(file), to)}.ts`)];
    }),
);

/** Returns the first circle of imports that is found from a file. @param checked the files that are in no circle. */
function circleFrom(file: string, above: readonly string[], checked: Set<string>): string[] | undefined {
  if (above.includes(file)) return [...above.slice(above.indexOf(file)), file];
  if (checked.has(file)) return undefined;
  for (const imported of IMPORTS.get(file) ?? []) {
    const circle = circleFrom(imported, [...above, file], checked);
    if (circle !== undefined) return circle;
  }
  checked.add(file);
  return undefined;
}

it('no file of src imports itself through other files', () => {
  const checked = new Set<string>();
  for (const file of IMPORTS.keys()) expect(circleFrom(file, [], checked)).toBeUndefined();
  expect(checked.size).toBeGreaterThan(100);
});
