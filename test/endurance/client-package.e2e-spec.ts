import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  mkdirSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cashback, createSandboxMerchant } from '../../clients/typescript/src/index.js';
import { NpmFolder } from '../support/npm-folder.js';
import { OF_OTHERS, promiseOf } from '../support/typescript-client.js';

const PACKAGE = 'clients/typescript';
const TSC = 'node_modules/typescript/bin/tsc';
const MAX_BYTES = 12 * 1024;

const run = (...args: string[]): string => execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' });

/** What tsc says about a program that does not compile. */
function compile(...args: string[]): string {
  try {
    return run(TSC, ...args);
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

/** A strict caller without the types of Node. */
const CALLER = `
import { Cashback, CashbackError, type List, type Order, type OrderPage } from '@cashback/client';
import { fromCentavos, toCentavos, type Money } from '@cashback/client/money';
import { verify, webhookHandler } from '@cashback/client/webhooks';

const cashback = new Cashback({ baseUrl: 'https://cashback.example' });
export const listed: List<OrderPage> = cashback.orders.list({ status: ['pending'], limit: 10 });

export async function sell(cart: { id: string; total: Money }): Promise<string> {
  try {
    const members = { items: [], payment_methods: [], document: '52998224725' };
    const order: Order = await cashback.orders.create({ external_id: cart.id, total: cart.total, ...members });
    await cashback.orders.complete(order.id);
    await cashback.orders.complete(order.id, { redeem: '5.00' }, { ifMatch: order.version, timeout: 10_000 });
    // @ts-expect-error A number is no amount.
    await cashback.orders.complete(order.id, { redeem: 5 });
    // @ts-expect-error The client has no such operation.
    await cashback.orders.destroy(order.id);
    for await (const event of cashback.events.list({ after: 0, types: ['order.refunded'] }))
      if (event.type === 'order.refunded') return event.data.refund.amount;
    return fromCentavos(toCentavos(order.total) * 2n);
  } catch (error) {
    if (!(error instanceof CashbackError)) throw error;
    switch (error.code) {
      case 'redemption_exceeds_maximum':
        return error.maximum;
      case 'external_id_conflict':
        return error.existing_id;
      case 'not_found':
        // @ts-expect-error This error has no maximum.
        return String(error.maximum);
      case 'network_error':
        return 'offline';
      // @ts-expect-error The code is misspelled.
      case 'redemption_exceeds_maximun':
        return '';
      default:
        return error.nextAction === 'retry' ? error.message : \`\${error.status} \${error.code}\`;
    }
  }
}

export async function checkOut(id: string, total: string): Promise<string> {
  const { outcome, order } = await cashback.orders.put(id, { document: '52998224725', total, items: [] });
  if (outcome !== 'open') return outcome;
  const { version } = order;
  // @ts-expect-error What was paid is missing.
  await cashback.orders.pay(order.id, { version, redeem: '0.00' });
  const paid = await cashback.orders.pay(order.id, { version, redeem: '0.00', payment_methods: [] });
  // @ts-expect-error Only cashback that is lost has a maximum.
  if (paid.outcome === 'completed') return paid.maximum;
  return paid.outcome === 'cashback_lost' ? paid.maximum : paid.order.status;
}

export const handle = webhookHandler('', (event) => void event.sequence);

export async function received(raw: string, headers: Record<string, string>): Promise<number> {
  const event = await verify(raw, headers, 'whsec_');
  if (!('type' in event)) return event.data.length;
  return event.type === 'ping' ? 0 : event.sequence;
}
`;

/** Another project than those of this one: what the compiler makes of its one file is run. */
interface Project {
  type: 'commonjs' | 'module';
  module: string;
  moduleResolution: string;
}
const PROJECTS: Record<string, Project> = {
  'CommonJS, node10': { type: 'commonjs', module: 'commonjs', moduleResolution: 'node10' },
  'CommonJS, node16': { type: 'commonjs', module: 'node16', moduleResolution: 'node16' },
  'CommonJS, nodenext': { type: 'commonjs', module: 'nodenext', moduleResolution: 'nodenext' },
  'ES modules, nodenext': { type: 'module', module: 'nodenext', moduleResolution: 'nodenext' },
};
const PROGRAM = `
import { Cashback, CashbackError, cleanDocument } from '@cashback/client';
import { fromMinor } from '@cashback/client/money';
import { webhookHandler, WebhookError } from '@cashback/client/webhooks';

const cashback = new Cashback({ baseUrl: 'http://localhost:1', timeout: 100 });
try {
  webhookHandler('', () => undefined);
} catch (error) {
  if (error instanceof WebhookError) console.log(cleanDocument('529.982.247-25'), fromMinor(2998));
}
cashback.me().catch((error: unknown) => console.log(error instanceof CashbackError && error.code));
`;

describe('the file of the TypeScript client', () => {
  const folder = new NpmFolder();

  beforeAll(async () => {
    execFileSync('npm', ['pack', '--workspace', PACKAGE, '--pack-destination', folder.path]);
    await folder.install('./cashback-client-1.0.0.tgz', 'typescript-5.4@npm:typescript@5.4.5', 'typescript@6.0.2');
  });
  afterAll(() => folder.remove());

  it.each(
    Object.entries(PROJECTS).flatMap(([name, project]) =>
      ['typescript-5.4', 'typescript'].map((compiler) => ({ name, compiler, project })),
    ),
  )('works in a project of $name, with $compiler', async ({ compiler, project: { type, ...resolution } }) => {
    const isOld = compiler === 'typescript-5.4';
    const ignored = resolution.moduleResolution === 'node10' && !isOld && { ignoreDeprecations: '6.0' };
    const options = {
      strict: true,
      target: 'es2022',
      lib: ['es2022', 'dom', 'dom.iterable'],
      types: [],
      outDir: 'out',
    };
    const files = ['program.ts', 'caller.ts'];
    mkdirSync(path.join(folder.path, 'project'), { recursive: true });
    folder.write('project/package.json', JSON.stringify({ type }));
    folder.write(
      'project/tsconfig.json',
      JSON.stringify({ compilerOptions: { ...options, ...resolution, ...ignored }, files }),
    );
    folder.write('project/program.ts', PROGRAM);
    folder.write('project/caller.ts', CALLER);
    await folder.run(process.execPath, `node_modules/${compiler}/bin/tsc`, '-p', 'project');
    const output = await folder.run(process.execPath, 'project/out/program.js');
    expect(output).toBe('52998224725 29.98\nmissing_token\n');
  });

  it('has the examples, and a README without links to what it does not have', () => {
    const installed = path.join(folder.path, 'node_modules/@cashback/client');
    const links = [...readFileSync(path.join(installed, 'README.md'), 'utf8').matchAll(/\]\(([^)#]+)/g)];
    expect(links.length).toBeGreaterThan(0);
    expect(links.map(([, link = '']) => link).filter((link) => !existsSync(path.join(installed, link)))).toEqual([]);
  });
});

describe('the package of the TypeScript client', () => {
  let folder: string;
  const built = (): string => path.join(folder, 'node_modules/@cashback/client');

  beforeAll(() => {
    // In the project, whose packages some examples use.
    folder = mkdtempSync(path.resolve('dist/client-'));
    mkdirSync(built(), { recursive: true });
    run(TSC, '-p', PACKAGE, '--outDir', path.join(built(), 'dist'));
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
    symlinkSync(path.resolve(PACKAGE, 'package.json'), path.join(built(), 'package.json'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('has the types and operations of the current document: otherwise run `npm run client`', () => {
    const current = path.join(folder, 'generated');
    run('tools/client.mjs', current);
    const committed = `${PACKAGE}/src/generated`;
    expect(readdirSync(current).sort()).toEqual(readdirSync(committed).sort());
    for (const file of readdirSync(current))
      expect(readFileSync(path.join(committed, file), 'utf8') === readFileSync(path.join(current, file), 'utf8')).toBe(
        true,
      );
  });

  it('has a method for each operation of the document', async () => {
    const requested = new Set<string>();
    const server = createServer((request, response) => {
      const [pathname] = request.url!.split('?');
      requested.add(`${request.method} ${pathname!.replaceAll(/\/id-\d/g, '/{}')}`);
      const { status, like } = promiseOf(request);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(like && JSON.stringify({ ...like, done: true }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const expired = { access_token: 'a', access_token_expire_at: '1999-01-01T00:00:00.000Z', refresh_token: 'r' };
    const tokenStore = { get: () => Promise.resolve(expired), set: () => Promise.resolve() };
    const cashback = new Cashback({ baseUrl, tokenStore });
    await createSandboxMerchant({ baseUrl, name: 'a' });
    await cashback.login({ email: 'a', password: 'b' });
    await cashback.me();
    await cashback.changePassword({ current_password: 'a', new_password: 'b' });
    for (const resource of Object.values(cashback).filter((member) => typeof member === 'object'))
      for (const [name, method] of Object.entries(resource as Record<string, (...args: unknown[]) => unknown>)) {
        if (name === 'csv' || OF_OTHERS.has(name)) continue;
        const answer = await method('id-1', 'id-2', {}, {});
        for await (const _ of (answer as { pages?(): AsyncIterable<unknown> }).pages?.() ?? []);
      }
    await cashback.logout();
    server.closeAllConnections();
    server.close();
    const { paths } = JSON.parse(readFileSync('dist/openapi-sandbox.json', 'utf8')) as {
      paths: Record<string, object>;
    };
    const documented = Object.entries(paths).flatMap(([route, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${route.replaceAll(/\{\w+\}/g, '{}')}`),
    );
    expect(documented.filter((operation) => !requested.has(operation))).toEqual([]);
  });

  it('compiles with the types of a browser alone, and so does a strict caller of its build', () => {
    expect(compile('-p', PACKAGE, '--noEmit')).toBe('');
    expectToCompile({ 'caller.ts': CALLER }, ['es2022', 'dom']);
  });

  it('has a README whose examples compile', () => {
    const examples = [...readFileSync(`${PACKAGE}/README.md`, 'utf8').matchAll(/^```ts\n(.*?)^```/gms)];
    expect(examples.length).toBeGreaterThan(7);
    const files = examples.map(([, text], at) => [`example-${at}.ts`, `${text}\nexport {};\n`]);
    expectToCompile(Object.fromEntries(files) as Record<string, string>, ['es2023', 'dom'], ['node']);
  });

  function expectToCompile(sources: Record<string, string>, lib: string[], types: string[] = []): void {
    const options = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true };
    const compilerOptions = {
      ...options,
      module: 'nodenext',
      target: 'es2022',
      lib,
      types,
      skipLibCheck: types.length > 0,
    };
    for (const [name, text] of Object.entries(sources)) writeFileSync(path.join(folder, name), text);
    const config = { compilerOptions, files: Object.keys(sources) };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(config));
    expect(compile('-p', folder)).toBe('');
  }

  it(`is at most ${MAX_BYTES} bytes, minified and compressed`, () => {
    const all = path.join(folder, 'all.ts');
    const sources = ['index', 'money', 'webhooks'].map((name) => path.resolve(PACKAGE, 'src', `${name}.ts`));
    writeFileSync(all, sources.map((source) => `export * from '${source}';`).join('\n'));
    const bundle = execFileSync('node_modules/.bin/esbuild', [all, '--bundle', '--minify', '--format=esm']);
    expect(gzipSync(bundle).length).toBeLessThanOrEqual(MAX_BYTES);
  });

  it('imports nothing but its own modules', () => {
    for (const file of readdirSync(path.join(built(), 'dist')).filter((name) => name.endsWith('.js'))) {
      const source = readFileSync(path.join(built(), 'dist', file), 'utf8');
      expect([...source.matchAll(/from '([^.][^']*)'/g)].map(([, name]) => name)).toEqual([]);
    }
  });
});
