import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const read = (file: string): string => readFileSync(file, 'utf8');

describe('the image', () => {
  it('starts what `npm run start:prod` starts, with the same limits of the heap, but without what helps Node 20 alone', () => {
    const [command] = /^CMD (\[.*\])$/m.exec(read('Dockerfile'))?.slice(1) ?? [];
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    expect((JSON.parse(command ?? '[]') as string[]).join(' ')).toBe(
      scripts['start:prod']?.replace(' --no-allocation-site-pretenuring', ''),
    );
    expect(read('Dockerfile')).toMatch(/^FROM node:24-/m);
  });
});
