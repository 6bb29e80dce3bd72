import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeIf } from '../support/requirements.js';
import { SANDBOX } from '../support/sandbox.js';
import { failing, UnreliableProxy } from '../support/unreliable-proxy.js';
import { useBuiltService } from '../support/use-service.js';

const isThere = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0;

interface Outcome {
  code: number;
  output: string;
}

/** Runs a program as a newcomer does. */
function run(program: string, args: string[], BASE_URL: string, cwd = '.'): Promise<Outcome> {
  const env = { ...process.env, BASE_URL };
  return new Promise((resolve) => {
    execFile(program, args, { env, cwd }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), output: stdout + stderr }),
    );
  });
}

const linesOf = (file: string): number => readFileSync(file, 'utf8').trimEnd().split('\n').length;

const STORY = ['PED-2 is paid, redeems and earns: 92.50, 7.50, 4.62', 'DEV-1 pays back, and returns: 37.00, 3.00'];

const YEAR = [
  'PED-1 150.00: paid 150.00, redeemed 0.00, earned 7.50, available 0.00, pending 7.50',
  'PED-2 -40.00: paid -37.00, redeemed -3.00, earned -1.85, available 3.00, pending 2.77',
  '07-17  available 2.77, expiring 3.00, expired 3.00',
  'PED-4 10.00: paid 9.14, redeemed 0.86, earned 0.45, available 0.00, pending 0.45',
  'The shop has 176.37',
];

const EXAMPLES = [
  {
    file: 'clients/typescript/examples/shop.ts',
    command: ['npm', 'run', 'shop', '--workspace', 'clients/typescript'],
    isPossible: true,
    story: YEAR,
    maxLines: 120,
  },
  {
    file: 'clients/python/checkout.py',
    command: ['python3', 'clients/python/checkout.py'],
    isPossible: isThere('python3', '--version'),
    story: STORY,
    maxLines: 80,
  },
  {
    file: 'clients/php/checkout.php',
    command: ['php', 'clients/php/checkout.php'],
    isPossible: isThere('php', '--version'),
    story: STORY,
    maxLines: 80,
  },
];

const service = useBuiltService(SANDBOX);

for (const {
  file,
  command: [program = '', ...args],
  isPossible,
  story,
  maxLines,
} of EXAMPLES)
  describeIf(isPossible, `${file}, because ${program} is missing`)(file, () => {
    it('tells its story, in which all figures are right', async () => {
      const { code, output } = await run(program, args, service.url);
      for (const line of story) expect(output).toContain(line);
      expect(code).toBe(0);
    });

    it('tells the same story if 35 % of requests fail', async () => {
      const proxy = await UnreliableProxy.start(service.url);
      proxy.fault = failing(0.35);
      const { code, output } = await run(program, args, proxy.url);
      await proxy.stop();
      for (const line of story) expect(output).toContain(line);
      expect(code).toBe(0);
      expect(proxy.passed.filter(({ fault }) => fault !== undefined).length).toBeGreaterThan(0);
    });

    it('fails if a figure is wrong', async () => {
      const generous = await startGenerousProxy();
      const { code, output } = await run(program, args, generous.url);
      generous.stop();
      expect(output).toContain('9.00');
      expect(output).not.toContain(story.at(-1));
      expect(code).not.toBe(0);
    });

    it(`has at most ${maxLines} lines`, () => {
      expect(linesOf(file)).toBeLessThanOrEqual(maxLines);
    });
  });

/** A proxy through which merchants are created with 6 % instead of 5 %. */
async function startGenerousProxy(): Promise<{ url: string; stop(): void }> {
  const server = createServer((request, response) => {
    const forward = async (): Promise<void> => {
      const body = Buffer.concat((await request.toArray()) as Buffer[]).toString();
      const { method = '', url = '' } = request;
      const sent = body.replace(/("earn_rate": ?)"0.05"/, '$1"0.06"');
      const headers = Object.fromEntries(
        ['authorization', 'content-type', 'accept', 'if-match'].flatMap((name) =>
          request.headers[name] === undefined ? [] : [[name, request.headers[name] as string]],
        ),
      );
      const answer = await fetch(`${service.url}${url}`, { method, headers, ...(sent !== '' && { body: sent }) });
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
      response.end(await answer.text());
    };
    forward().catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

const runsTypeScript = Boolean((process.features as { typescript?: string | false }).typescript);

describeIf(runsTypeScript, `shop.ts itself, because Node ${process.version} runs no TypeScript`)(
  'clients/typescript/examples/shop.ts in a project that has the client',
  () => {
    let folder: string;

    beforeAll(() => {
      folder = mkdtempSync(path.resolve('dist/shop-project-'));
      const installed = path.join(folder, 'node_modules/@cashback/client');
      mkdirSync(installed, { recursive: true });
      const options = ['-p', 'clients/typescript', '--outDir', path.join(installed, 'dist')];
      execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...options]);
      copyFileSync('clients/typescript/package.json', path.join(installed, 'package.json'));
      for (const file of ['shop.ts', 'year.ts'])
        copyFileSync(`clients/typescript/examples/${file}`, path.join(folder, file));
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    it('is run by Node as it is', async () => {
      const { code, output } = await run(process.execPath, ['year.ts'], service.url, folder);
      for (const line of YEAR) expect(output).toContain(line);
      expect(code).toBe(0);
    });
  },
);
