import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDataSource } from '../../src/schema.js';
import { type BuiltService, freePort, startBuiltService } from '../support/built-service.js';
import { Client } from '../support/client.js';
import type { OpenApi } from '../support/contract.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { type Send, useEveryOperation } from '../support/every-operation.js';
import { PASSWORD } from '../support/factories.js';
import { NpmFolder } from '../support/npm-folder.js';
import { seedMerchant } from '../support/seed.js';

/** The newest version that runs on every Node that the service supports. */
const PRISM = '@stoplight/prism-cli@5.14.2';

/** What Prism says about a request or a response, in a header of the response. */
interface Violation {
  path: string;
  status: number;
  location: ['request' | 'response', ...string[]];
  message: string;
}

describe('Prism as a proxy that compares requests and responses with the OpenAPI document', () => {
  const folder = new NpmFolder();
  let database: TestDatabase;
  let service: BuiltService;
  let document: OpenApi;
  let proxy: ChildProcess;
  let url: string;

  beforeAll(async () => {
    await folder.install(PRISM);
    database = await createMigratedDatabase();
    service = await startBuiltService(database.url);
    document = (await new Client(service).get<OpenApi>('/docs-json')).body;
    folder.write('openapi.json', JSON.stringify(document));
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const args = ['node_modules/.bin/prism', 'proxy', 'openapi.json', service.url, '--port', String(port)];
    proxy = spawn(process.execPath, [...args, '--host', '127.0.0.1'], { cwd: folder.path, stdio: 'ignore' });
    while (!(await fetch(`${url}/policy`).then(Boolean, () => false))) await sleep(100);
  });
  afterAll(async () => {
    proxy.kill();
    await once(proxy, 'exit');
    await service.stop();
    await database.drop();
    folder.remove();
  });

  it('no response of any operation violates the document, and a request with an unknown member does', async () => {
    const email = await seedMerchant(createDataSource(database.url));
    const { body: tokens } = await new Client({ url }).post('/auth/login', { email, password: PASSWORD });
    const client = new Client({ url }, (tokens as unknown as { access_token: string }).access_token);
    const used = new Set<string>();
    const found: Violation[] = [];
    const send: Send = async (method, route, body, values = {}, query = '', headers = {}) => {
      const path = route.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '') + query;
      const answer = await client.send(method.toUpperCase(), path, { body, headers });
      used.add(`${method} ${route}`);
      const violations = JSON.parse(answer.headers.get('sl-violations') ?? '[]') as Violation[];
      found.push(...violations.map((violation) => ({ ...violation, path, status: answer.status })));
      return answer;
    };
    const { headers } = await client.post('/quotes', { total: '1.00', bogus: 1 });
    expect(headers.get('sl-violations')).toContain('bogus');
    await useEveryOperation(send);
    expect(found.filter(({ location }) => location[0] === 'response')).toEqual([]);
    // The document has the repeated parameter only: a list with commas is for people who type a URL.
    const accepted = found.filter(({ status }) => status < 400);
    expect(accepted.map(({ path }) => path)).toEqual([expect.stringMatching(/types=order.amended,order.refunded$/)]);
    const described = Object.entries(document.paths).flatMap(([route, methods]) =>
      Object.keys(methods).map((method) => `${method} ${route}`),
    );
    expect([...used].sort()).toEqual(described.sort());
  });
});
