import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Module, Post, Req, Res, type RawBodyRequest } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import express, { type Request as ExpressRequest, type Response as ExpressResponse } from 'express';
import type { Event } from '../../clients/typescript/src/index.js';
import { type WebhookHandler, webhookHandler, WebhookError } from '../../clients/typescript/src/webhooks.js';
import { atOnce } from '../support/client.js';
import { deliver, type Received, type Receiver, startReceiver } from '../support/receiver.js';
import { anOrderOf, clientOf } from '../support/typescript-client.js';
import { useService } from '../support/use-service.js';

/** What stops a server, and where it is. */
interface Running {
  url: string;
  stop(): Promise<unknown>;
}

async function running(listener: RequestListener): Promise<Running> {
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return urlOf(server, () => new Promise((closed) => server.close(closed)));
}

const urlOf = (server: Server, stop: () => Promise<unknown>): Running => ({
  url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
  stop: () => {
    server.closeAllConnections();
    return stop();
  },
});

async function nest(handle: WebhookHandler): Promise<Running> {
  @Controller('webhooks')
  class Webhooks {
    @Post()
    receive(@Req() request: RawBodyRequest<ExpressRequest>, @Res() response: ExpressResponse): Promise<void> {
      return handle(request, response);
    }
  }
  @Module({ controllers: [Webhooks] })
  class Shop {}
  const app = await NestFactory.create(Shop, { rawBody: true, logger: false });
  await app.listen(0, '127.0.0.1');
  return urlOf(app.getHttpServer() as Server, () => app.close());
}

/** Gives the handler requests and responses of fetch. */
const ofFetch = (handle: WebhookHandler) => async (request: IncomingMessage, response: ServerResponse) => {
  const body = Buffer.concat((await request.toArray()) as Buffer[]);
  const headers = request.headers as Record<string, string>;
  const answer = await handle(new Request('http://shop.example/', { method: 'POST', headers, body }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
};

const SERVERS: [string, (handle: WebhookHandler) => Promise<Running>][] = [
  ['Node', (handle) => running((request, response) => void handle(request, response))],
  ['Express', (handle) => running(express().post('/webhooks', handle))],
  ['Express with raw()', (handle) => running(express().post('/webhooks', express.raw({ type: '*/*' }), handle))],
  ['Nest with rawBody', nest],
  ['fetch', (handle) => running((...exchange) => void ofFetch(handle)(...exchange))],
];

describe('webhookHandler of the TypeScript client', () => {
  const { service, merchant } = useService();
  let receiver: Receiver;
  let secret: string;
  let single: Received;
  let batch: Received;
  let ping: Received;

  const send = async (url: string, { raw, headers }: Received, changed: object = {}) => {
    const kept = ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature'];
    const sent = Object.fromEntries(kept.map((name) => [name, headers[name] as string]));
    const answer = await fetch(url, { method: 'POST', headers: { ...sent, ...changed }, body: raw });
    return `${answer.status} ${await answer.text()}`;
  };

  beforeAll(async () => {
    receiver = await startReceiver();
    const cashback = clientOf(merchant, service);
    const endpoint = { url: receiver.url };
    const { id, secret: made } = await cashback.webhookEndpoints.create(endpoint);
    secret = made;
    await cashback.webhookEndpoints.ping(id);
    await cashback.orders.create(anOrderOf());
    await deliver(service);
    await cashback.webhookEndpoints.replace(id, { ...endpoint, batch: 10 });
    for (let at = 0; at < 3; at++) await cashback.orders.create(anOrderOf());
    await deliver(service);
    [ping, single, batch] = receiver.received as [Received, Received, Received];
  });
  afterAll(() => receiver.stop());

  it.each(SERVERS)('of %s gives each event once, also of batches, and not before it is stored', async (_, start) => {
    const stored = new Map<string, Event>();
    const failures: unknown[] = [new Error('the database is gone')];
    const errors: unknown[] = [];
    const handle = webhookHandler<Map<string, Event>>(
      secret,
      (event, transaction) => {
        if (failures.length > 0) throw failures.pop();
        transaction.set(event.id, event);
      },
      { once: async (id, work) => (stored.has(id) ? undefined : work(stored)), onError: (error) => errors.push(error) },
    );
    const server = await start(handle);
    expect(await send(server.url, single)).toBe('500 the event was not stored');
    expect(errors).toEqual([new Error('the database is gone')]);
    for (const received of [single, single, batch, ping, batch]) expect(await send(server.url, received)).toBe('204 ');
    expect([...stored.values()]).toEqual([...single.events, ...batch.events]);
    expect(await send(server.url, single, { 'webhook-id': 'evt_other' })).toMatch(/^400 no signature is that of/);
    expect(errors).toHaveLength(1);
    await server.stop();
  });

  it('gives repeats, too, if nothing says that an event is stored', async () => {
    const got: string[] = [];
    const server = await SERVERS[0]![1](webhookHandler(secret, ({ id }) => void got.push(id)));
    await atOnce(3, () => send(server.url, single));
    expect(got).toEqual(Array(3).fill(single.event.id));
    await server.stop();
  });

  it('says of a body that a parser has read what to change, and tells the program', async () => {
    const errors: unknown[] = [];
    const handle = webhookHandler(secret, () => undefined, { onError: (error) => errors.push(error) });
    const server = await running(express().use(express.json()).post('/webhooks', handle));
    expect(await send(server.url, single)).toMatch(/^500 the body was parsed or not read: give its bytes/);
    expect(errors).toEqual([expect.any(WebhookError)]);
    await server.stop();
    const request = new Request('http://shop.example/', { method: 'POST', body: '{}' });
    await request.json();
    const answer = await handle(request);
    expect(`${answer.status} ${await answer.text()}`).toMatch(/^500 the body was parsed or not read/);
  });

  it('refuses a body that is larger than a batch can be', async () => {
    const server = await SERVERS[0]![1](webhookHandler(secret, () => undefined));
    const large = { ...single, raw: 'x'.repeat(2 ** 21 + 1) };
    const outcome = await send(server.url, large).catch(() => 'the connection was closed');
    expect(outcome).toMatch(/^400 the body has more than|^the connection was closed$/);
    await server.stop();
  });

  it.each([undefined, '', 'x', 'whsec_'])('cannot be made with the secret %p', (wrong) => {
    expect(() => webhookHandler(wrong, () => undefined)).toThrow('the secret is not that of an endpoint');
  });
});
