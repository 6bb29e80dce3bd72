import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { anOrderOf } from '../support/typescript-client.js';
import { useService } from '../support/use-service.js';

const PROGRAM = `
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { Cashback, CashbackError } from './client/index.js';
import { toCentavos } from './client/money.js';
import { verify, WebhookError } from './client/webhooks.js';

const [baseUrl, email, password, order] = process.argv.slice(2);
const cashback = new Cashback({ baseUrl, email, password });
const { id, external_id, document, total } = await cashback.orders.create(JSON.parse(order));
const listed = [];
for await (const found of cashback.orders.search({ document })) listed.push(found.external_id);
const error = await cashback.orders.hold(id, { amount: total }).catch((reason) => reason);
const headers = { 'webhook-id': 'a', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)), 'webhook-signature': 'v1,x' };
const forged = await verify('{}', headers, 'whsec_AAAA').catch((reason) => reason);
const server = createServer((request, response) =>
  request.url === '/followed'
    ? response.end()
    : request.url === '/endless/policy'
      ? response.writeHead(200, { 'content-type': 'application/json' }) && Readable.from(spaces()).pipe(response)
      : response.writeHead(307, { location: '/followed' }).end(),
);
function* spaces() {
  for (;;) yield Buffer.alloc(1024 * 1024, ' ');
}
await once(server.listen(0, '127.0.0.1'), 'listening');
const tokens = { access_token: 'a', access_token_expire_at: '2999-01-01T00:00:00.000Z', refresh_token: 'r' };
const tokenStore = { get: async () => tokens, set: async () => {} };
const elsewhere = (folder) =>
  new Cashback({ baseUrl: 'http://127.0.0.1:' + server.address().port + folder, tokenStore });
const statusOf = (call) => call.catch((reason) => reason.code === 'unexpected_response' && reason.status);
const unexpected = [
  await statusOf(elsewhere('').orders.create(JSON.parse(order))),
  await statusOf(elsewhere('').login({ email, password })),
  await statusOf(elsewhere('/endless').policy.get()),
];
const isRefused = error instanceof CashbackError && forged instanceof WebhookError;
console.log(JSON.stringify({ external_id, listed, code: error.code, centavos: String(toCentavos(total)), isRefused, unexpected }));
process.exit();
`;

describe('the build of the TypeScript client', () => {
  const { service, merchant } = useService();
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(path.resolve('dist/client-nodes-'));
    const options = ['-p', 'clients/typescript', '--outDir', path.join(folder, 'client')];
    execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...options]);
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(path.join(folder, 'program.js'), PROGRAM);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(['20.19.0', '22', '24'])(
    'creates, lists, refuses, follows no redirect and reads no body without an end on Node %s',
    async (version) => {
      const order = anOrderOf({ total: '150.00' });
      const args = [service.url, merchant.email, merchant.password, JSON.stringify(order)];
      const { stdout } = await promisify(execFile)(
        'npm',
        ['exec', '--yes', `--package=node@${version}`, '--', 'node', 'program.js', ...args],
        { cwd: folder },
      );
      const { external_id } = order;
      expect(JSON.parse(stdout)).toEqual({
        external_id,
        listed: [external_id],
        code: 'redemption_exceeds_maximum',
        centavos: '15000',
        isRefused: true,
        unexpected: [307, 307, 200],
      });
    },
  );
});
