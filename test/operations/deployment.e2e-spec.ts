import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const read = (file: string): string => readFileSync(file, 'utf8');

describe('the image', () => {
  it('runs on the Node version of .nvmrc and starts the same command as `npm run start:prod`', () => {
    const [command] = /^CMD (\[.*\])$/m.exec(read('Dockerfile'))?.slice(1) ?? [];
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    expect((JSON.parse(command ?? '[]') as string[]).join(' ')).toBe(scripts['start:prod']);
    const images = read('Dockerfile').match(/^FROM \S+/gm);
    expect(new Set(images)).toEqual(new Set([`FROM node:${read('.nvmrc').trim()}-bookworm-slim`]));
  });
});
