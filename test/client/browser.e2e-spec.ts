import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
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

  beforeAll(async () => {
    const entry = path.resolve('clients/typescript/src/index.ts');
    const bundle = execFileSync('node_modules/.bin/esbuild', [entry, '--bundle', '--format=esm', '--target=es2022']);
    server.on('request', ({ url }, response) => {
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
});
