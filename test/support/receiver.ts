import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { DeliveryService } from '../../src/events/webhook-delivery.service.js';
import { numberEvents } from './events.js';
import type { Service } from './service.js';
import type { FeedEvent } from './shop.js';

/** A request that a receiver got. */
export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The names and values as they arrived. */
  rawHeaders: string[];
  /** The body as it arrived, which the signature is about. */
  raw: string;
  /** What the body has: one event, or those of a batch. */
  events: FeedEvent[];
  /** The event, or the last one of a batch. */
  event: FeedEvent;
}

/** Answers a request. Without one, the answer is 204. */
export type Answering = (received: Received, response: ServerResponse) => void;

/** A merchant's server, which webhooks are sent to. */
export interface Receiver {
  url: string;
  received: Received[];
  /** The sequences of the events that it has got. */
  sequences(): number[];
  /** The connections that it has got. */
  connections(): number;
  /** What it answers from now on. */
  answer: Answering;
  stop(): Promise<void>;
}

export const accept: Answering = (_, response) => void response.writeHead(204).end();

/** Answers with a status and, if any, headers and a body. */
export const answerWith =
  (status: number, headers: Record<string, string> = {}, body = ''): Answering =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);

/** Accepts the request and never answers. */
export const hang: Answering = () => undefined;

export async function startReceiver(answer: Answering = accept): Promise<Receiver> {
  const received: Received[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks).toString();
      const { method = '', url: path = '', headers, rawHeaders } = request;
      const body = (raw === '' ? {} : JSON.parse(raw)) as FeedEvent | { data: FeedEvent[] };
      const events = Array.isArray(body.data) ? body.data : [body as FeedEvent];
      const one = { method, path, headers, rawHeaders, raw, events, event: events.at(-1)! };
      received.push(one);
      receiver.answer(one, response);
    });
  });
  server.on('connection', () => connections++);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    received,
    sequences: () => received.flatMap(({ events }) => events.map(({ sequence }) => sequence)),
    connections: () => connections,
    answer,
    stop: async () => {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
  return receiver;
}

/** A server that does not have to speak HTTP. */
export interface RawReceiver {
  url: string;
  port: number;
  connections(): number;
  stop(): Promise<void>;
}

/** @param answer is called with each request: once the end of its JSON body has arrived. */
export async function startRawReceiver(answer: (socket: Socket) => void): Promise<RawReceiver> {
  const open = new Set<Socket>();
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections++;
    open.add(socket);
    let text = '';
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (!text.endsWith('}')) return;
      text = '';
      answer(socket);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    port,
    connections: () => connections,
    stop: async () => {
      for (const socket of open) socket.destroy();
      await once(server.close(), 'close');
    },
  };
}

/** Numbers all events, and delivers to the endpoints that are due, until nothing is left to do now. */
export async function deliver(service: Service): Promise<void> {
  await numberEvents(service);
  await service.app.get(DeliveryService).settled();
}
