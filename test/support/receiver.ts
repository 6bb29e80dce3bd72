import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SweepsService } from '../../src/sweeps/sweeps.service.js';
import { DeliveryService } from '../../src/webhooks/delivery.service.js';
import type { Service } from './service.js';

/** A request that a receiver got. */
export interface Received {
  headers: IncomingHttpHeaders;
  /** The body as it arrived, which the signature is about. */
  raw: string;
  event: any;
}

/** Answers a request. Without one, the answer is 204. */
export type Answering = (received: Received, response: ServerResponse) => void;

/** A merchant's server, which webhooks are sent to. */
export interface Receiver {
  url: string;
  received: Received[];
  /** The connections that it has got. */
  connections(): number;
  /** What it answers from now on. */
  answer: Answering;
  stop(): Promise<void>;
}

const accept: Answering = (_, response) => void response.writeHead(204).end();

export async function startReceiver(answer: Answering = accept): Promise<Receiver> {
  const received: Received[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks).toString();
      const one = { headers: request.headers, raw, event: JSON.parse(raw) };
      received.push(one);
      receiver.answer(one, response);
    });
  });
  server.on('connection', () => connections++);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    received,
    connections: () => connections,
    answer,
    stop: async () => {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
  return receiver;
}

/** Numbers all events, and delivers to the endpoints that are due, until nothing is left to do now. */
export async function deliver(service: Service): Promise<void> {
  await service.app.get(SweepsService).doAll();
  await service.app.get(DeliveryService).settled();
}
