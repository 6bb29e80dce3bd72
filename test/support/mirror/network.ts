import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What goes wrong in one case of three, each as often. */
const FAULTS = ['refuse', 'cut', 'cut_after', 'refuse_status', 'status_after', 'late'] as const;
type Fault = (typeof FAULTS)[number];

const STATUSES = [500, 503, 429];

/** Longer than the service waits for a response. */
const TOO_LATE_MS = 15_500;

/** The network before a receiver of webhooks: it loses, delays and refuses requests and responses. */
export class BadNetwork {
  /** What the network did, by fault. */
  readonly counts: Record<string, number> = {};
  /** Events that arrived although a lower one had not been accepted. */
  readonly overtakers: string[] = [];
  /** Accepted events that arrived again. */
  repeats = 0;
  /** All events up to this sequence were accepted, or read from the feed. */
  accepted = 0;
  /** How requests are treated: at random, all refused with 410, or all carried. */
  mode: 'bad' | 'gone' | 'good' = 'bad';
  #port = 0;
  #target = '';
  #isOver = false;
  #mayBeTooLate = true;
  readonly #server = createServer((request, response) => void this.#take(request, response).catch(() => undefined));

  /** @param target the URL of the receiver. @returns the URL at which it can be reached. */
  async listen(target: string): Promise<string> {
    this.#target = target;
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
    return `http://127.0.0.1:${this.#port}/webhooks`;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#server.closeAllConnections();
    if (this.#server.listening) await once(this.#server.close(), 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = this.#fault();
    const name = fault ?? 'carried';
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    if (fault === 'cut') return void request.socket.destroy();
    const body = Buffer.concat(await request.toArray());
    const { sequence } = JSON.parse(body.toString()) as { sequence: number };
    if (sequence > this.accepted + 1) this.overtakers.push(`${sequence} after ${this.accepted}`);
    if (sequence <= this.accepted) this.repeats++;
    if (fault === 'gone') return void response.writeHead(410).end();
    if (fault === 'refuse') return void (await this.#goDown());
    if (fault === 'refuse_status') return this.#answerFailure(response);
    const status = await this.#carry(request, body);
    if (fault === 'cut_after') return void request.socket.destroy();
    if (fault === 'status_after') return this.#answerFailure(response);
    const isTooLate = fault === 'late' && (await this.#delay());
    if (status < 300 && !isTooLate) this.accepted = Math.max(this.accepted, sequence);
    response.writeHead(status).end();
  }

  #fault(): Fault | 'gone' | undefined {
    if (this.mode === 'gone') return 'gone';
    return this.mode === 'bad' && randomInt(3) === 0 ? FAULTS[randomInt(FAULTS.length)] : undefined;
  }

  async #carry(request: IncomingMessage, body: Buffer): Promise<number> {
    const headers = Object.entries(request.headers).filter(([name]) => /^(content-type|webhook-.*)$/.test(name));
    const options = { method: 'POST', headers: Object.fromEntries(headers) as Record<string, string>, body };
    const { status } = await fetch(this.#target, options);
    return status;
  }

  #answerFailure(response: ServerResponse): void {
    const status = STATUSES[randomInt(STATUSES.length)]!;
    response.writeHead(status, status === 500 ? {} : { 'retry-after': '60' }).end();
  }

  /** Waits: once for longer than the service does. @returns whether it was that once. */
  async #delay(): Promise<boolean> {
    const isTooLate = this.#mayBeTooLate;
    this.#mayBeTooLate = false;
    await sleep(isTooLate ? TOO_LATE_MS : randomInt(300));
    return isTooLate;
  }

  /** Closes all connections, and refuses new ones for a moment. */
  async #goDown(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await sleep(randomInt(200, 800));
    // Something else may have got the port as its own for a moment.
    while (!this.#isOver && !this.#server.listening) {
      const tried = once(this.#server.listen(this.#port, '127.0.0.1'), 'listening');
      await tried.catch(() => sleep(50));
    }
  }
}
