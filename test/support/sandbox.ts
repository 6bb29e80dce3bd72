import { Client } from './client.js';
import { logIn } from './factories.js';
import type { Service } from './service.js';
import { Shop, type FeedEvent } from './shop.js';
import { readFeed } from './events.js';

/** The environment of a service that is a sandbox. */
export const SANDBOX = { SANDBOX: 'true' };

/** Clocks only move forward, so the dates of tests are to come. */
export const NEXT_YEAR = new Date().getUTCFullYear() + 1;

/** Where to move a clock. */
export type Target = { now: string } | { on: string };

export interface Move {
  now: string;
  done: boolean;
  first_sequence: number | null;
  last_sequence: number | null;
}

interface Created {
  id: string;
  user: { id: string; name: string; email: string; password: string };
}

/** A merchant of a sandbox, with the rules of its creation. */
export class SandboxShop extends Shop {
  /** Moves the clock, in as many requests as it needs. */
  async move(target: Target): Promise<Move> {
    for (;;) {
      const move = await this.send<Move>('PUT', '/sandbox/clock', { body: target }, 200);
      if (move.done) return move;
    }
  }

  /** Moves the clock. @returns the events of the move, in their order. */
  async eventsUntil(target: Target): Promise<FeedEvent[]> {
    const { first_sequence: first, last_sequence: last } = await this.move(target);
    if (first === null || last === null) return [];
    return (await readFeed(this, first - 1)).filter(({ sequence }) => sequence <= last);
  }

  async now(): Promise<Date> {
    return new Date((await this.send<{ now: string }>('GET', '/sandbox/clock', {}, 200)).now);
  }

  /** Grants cashback. @param members those that matter for the test. */
  async granted(document: string, amount: string, members: object = {}): Promise<void> {
    const external_id = `GRANT-${document}-${amount}-${String(+(await this.now()))}`;
    await this.send('POST', '/grants', { body: { external_id, document, amount, ...members } }, 201);
  }
}

/** Creates a merchant as anybody can, and logs in. @param policy the members of `GET /policy` that differ. */
export async function aSandboxMerchant(service: Service, policy?: object): Promise<SandboxShop> {
  const { status, body } = await new Client(service).post<Created>('/sandbox/merchants', { name: 'Loja', policy });
  if (status !== 201) throw new Error(`the merchant was answered ${status}: ${JSON.stringify(body)}`);
  const { id, user } = body;
  const tokens = await logIn(service, user.email, user.password);
  return new SandboxShop(service, id, user.id, user.name, user.email, user.password, tokens);
}
