import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { describeInBrowser, launch } from '../support/browser.js';
import { aMerchant, PASSWORD, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import { anOrderOf } from '../support/typescript-client.js';

/** Runs in the page: shares the session with other tabs, through the storage and the locks of the browser. */
const PAGE = `
import { Cashback } from '/client.js';

const tokenStore = {
  get: async () => JSON.parse(localStorage.getItem('cashback') ?? 'null'),
  set: async (tokens) => localStorage.setItem('cashback', JSON.stringify(tokens)),
  lock: (work) => navigator.locks.request('cashback', work),
};

window.sell = async ({ baseUrl, credentials, order }) => {
  const cashback = new Cashback({ baseUrl, tokenStore });
  if (credentials !== null) await cashback.login(credentials);
  const created = await cashback.orders.create(order);
  const listed = [];
  for await (const { id } of cashback.orders.search({ document: order.document, limit: 1 })) listed.push(id);
  const error = await cashback.orders.hold(created.id, { amount: '1.00' }).catch((reason) => reason);
  return { id: created.id, listed, code: error.code, requestId: error.requestId };
};

const tokens = { access_token: 'a', access_token_expire_at: '2999-01-01T00:00:00.000Z', refresh_token: 'r' };
const ofPage = (baseUrl) => new Cashback({ baseUrl, tokenStore: { get: async () => tokens, set: async () => {} } });

window.refused = async ({ baseUrl, order }) => {
  const attempts = {
    login: () => ofPage(baseUrl).login({ email: 'a', password: 'a-secret-password' }),
    create: () => ofPage(baseUrl).orders.create(order),
    read: () => ofPage(baseUrl).policy.get(),
    remove: () => ofPage(baseUrl).webhookEndpoints.delete('x'),
  };
  const errors = {};
  for (const [name, attempt] of Object.entries(attempts))
    errors[name] = await attempt().then(() => 'no error', ({ code, status, detail, retryable }) => ({ code, status, detail, retryable }));
  return errors;
};
`;

interface Sold {
  id: string;
  listed: string[];
  code: string;
  requestId: string;
}

describeInBrowser('the TypeScript client in Chromium', () => {
  const server = createServer();
  let service: Service;
  let merchant: TestMerchant;
  let browser: Browser;
  let origin: string;
  const requests: string[] = [];

  /** Answers with spaces until the connection ends. */
  function endless(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    const write = (): void => {
      while (!response.destroyed)
        if (!response.write(Buffer.alloc(1024 * 1024, ' '))) return void response.once('drain', write);
    };
    write();
  }

  /** What the page is told of each kind of request to these paths of its own server. */
  async function errorsOf(folder: string): Promise<Record<string, unknown>> {
    requests.length = 0;
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(origin);
    const argument = { baseUrl: `${origin}/${folder}`, order: anOrderOf() };
    const errors = await page.evaluate(`refused(${JSON.stringify(argument)})`);
    await context.close();
    return errors as Record<string, unknown>;
  }

  beforeAll(async () => {
    const entry = path.resolve('clients/typescript/src/index.ts');
    const bundle = execFileSync('node_modules/.bin/esbuild', [entry, '--bundle', '--format=esm', '--target=es2022']);
    server.on('request', ({ method, url = '' }, response) => {
      const [, kind] = url.split('/');
      if (kind === 'moved' || kind === 'endless') requests.push(`${method} ${url}`);
      if (kind === 'moved') return response.writeHead(307, { location: `${origin}/followed` }).end();
      if (kind === 'endless') return endless(response);
      const isClient = url === '/client.js';
      response.setHeader('content-type', isClient ? 'text/javascript' : 'text/html; charset=utf-8');
      response.end(isClient ? bundle : `<!doctype html><script type="module">${PAGE}</script>`);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    service = await startService({ env: { CORS_ORIGINS: origin } });
    merchant = await aMerchant(service);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    server.closeAllConnections();
    server.close();
  });

  it('logs in, creates an order, reads a list and an error, and another tab goes on with the session', async () => {
    const context = await browser.newContext();
    const inTab = async (credentials: object | null): Promise<Sold> => {
      const page = await context.newPage();
      await page.goto(origin);
      const order = anOrderOf();
      const argument = { baseUrl: service.url, credentials, order };
      const sold = await page.evaluate(`sell(${JSON.stringify(argument)})`);
      await page.close();
      return sold as Sold;
    };
    const first = await inTab({ email: merchant.email, password: PASSWORD });
    expect(first.listed).toEqual([first.id]);
    expect(first).toMatchObject({ code: 'redemption_exceeds_maximum', requestId: expect.any(String) });
    const second = await inTab(null);
    expect(second.listed).toEqual([second.id]);
    expect((await merchant.client.get(`/orders/${second.id}`)).status).toBe(200);
  });

  it('follows no redirect, although a browser hides where it leads, and sends nothing twice', async () => {
    const detail: unknown = expect.stringContaining('a redirect to another address, which is not followed');
    const error = { code: 'unexpected_response', status: 0, detail, retryable: false };
    expect(await errorsOf('moved')).toEqual({ login: error, create: error, read: error, remove: error });
    expect(requests).toEqual(
      ['POST /auth/login', 'POST /orders', 'GET /policy', 'DELETE /webhook-endpoints/x'].map((line) =>
        line.replace(' ', ' /moved'),
      ),
    );
  });

  it('reads a body without an end up to 64 MiB, once', async () => {
    const error = { code: 'unexpected_response', status: 200, retryable: false };
    const errors = await errorsOf('endless');
    for (const kind of ['login', 'create', 'read', 'remove']) expect(errors[kind]).toMatchObject(error);
    expect(requests).toHaveLength(4);
  });
});
