/* eslint jest/no-standalone-expect: off -- Its methods are called inside tests alone. */
import { expect } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { type Answer, Client } from '../client.js';

/** A request that a merchant sends until it is answered, and sometimes sends again after that. */
interface Intent {
  kind: 'create' | 'hold' | 'amend' | 'complete' | 'cancel' | 'refund';
  method: 'POST' | 'PUT';
  path: string;
  body: unknown;
  answered: number;
  /** The values of the first response that must never change. */
  told?: Record<string, unknown>;
}

/** The number of sales that are finished at once, and the maximum number of attempts per request. */
const FINISHERS = 10;
const ATTEMPTS = 50;

const AMENDED_TOTAL = '9.00';

interface Sale {
  intents: Intent[];
  orderId: string | undefined;
}

/**
 * The later requests of a sale, in order: one in three is cancelled; the others are amended, completed, and refunded.
 */
function laterIntents(orderId: string, number: number): Intent[] {
  const path = `/orders/${orderId}`;
  const put: Intent = {
    kind: 'hold',
    method: 'PUT',
    path: `${path}/redemption`,
    body: { amount: '1.00' },
    answered: 0,
  };
  const post = (kind: Intent['kind'], action: string, body?: unknown): Intent => ({
    kind,
    method: 'POST',
    path: `${path}/${action}`,
    body,
    answered: 0,
  });
  if (number % 3 === 0) return [put, post('cancel', 'cancel')];
  const cart = { total: AMENDED_TOTAL, items: [{ id: 'sku-2', price: AMENDED_TOTAL }], payment_methods: [] };
  const amend: Intent = { kind: 'amend', method: 'PUT', path, body: cart, answered: 0 };
  const complete = post('complete', 'complete', number % 2 === 0 ? {} : { redeem: '1.00' });
  return [put, amend, complete, post('refund', 'refunds', { external_id: 'DEV-1', amount: '3.33' })];
}

/**
 * A mixed load of several concurrent workers. It records every response, so that each answered request can be looked up
 * in the database afterwards.
 */
export class Workload {
  readonly sales: Sale[] = [];
  /** Responses that are neither a success nor a 503. */
  readonly unexpected: string[] = [];
  /** The number of 503 responses. */
  refused = 0;
  /** The number of requests without a response. */
  unanswered = 0;
  #number = 0;

  /**
   * @param name is the prefix of the external_id of each order
   * @param pauseMs the wait of a worker after a failure; with less, it begins thousands of orders during an outage
   */
  constructor(
    private readonly token: string,
    private readonly name: string,
    private readonly documents: string[],
    private readonly pauseMs = 200,
  ) {}

  get answered(): number {
    return this.sales.flatMap(({ intents }) => intents).filter((intent) => intent.answered > 0).length;
  }

  /** Sends requests until `until` returns true. Unanswered requests stay open. */
  async work(url: string, workers: number, until: () => boolean): Promise<void> {
    await Promise.all(Array.from({ length: workers }, () => this.#worker(new Client({ url }, this.token).once, until)));
  }

  /** Retries unanswered requests until all are answered: several sales at once, the requests of a sale in order. */
  async finish(url: string): Promise<void> {
    const client = new Client({ url }, this.token).once;
    const open = this.sales.filter(({ intents }) => intents.some(({ answered }) => answered === 0)).values();
    const workers = Array.from({ length: FINISHERS }, async () => {
      for (const sale of open) await this.#finish(client, sale);
    });
    await Promise.all(workers);
    expect(this.sales.flatMap(({ intents }) => intents).filter((intent) => intent.answered === 0)).toEqual([]);
  }

  async #finish(client: Client, sale: Sale): Promise<void> {
    for (let at = 0; at < sale.intents.length; at++) {
      const intent = sale.intents[at]!;
      // A slow machine may still return 503 for a while.
      for (let attempt = 0; attempt < ATTEMPTS && intent.answered === 0; attempt++) {
        if (!(await this.#send(client, sale, intent))) await sleep(100);
      }
    }
  }

  async #worker(client: Client, until: () => boolean): Promise<void> {
    while (!until()) {
      const sale = this.#begin();
      for (let at = 0; at < sale.intents.length && !until(); at++) {
        const intent = sale.intents[at]!;
        if (!(await this.#send(client, sale, intent))) {
          await sleep(this.pauseMs);
          break;
        }
        // Repeat one in four answered requests.
        if (randomInt(4) === 0) await this.#send(client, sale, intent);
      }
    }
  }

  #begin(): Sale {
    const number = ++this.#number;
    const document = this.documents[number % this.documents.length];
    const body = {
      external_id: `${this.name}-${number}`,
      items: [{ id: 'sku-1', price: '10.00' }],
      document,
      total: '10.00',
      payment_methods: [{ id: 'credit_card', amount: '10.00' }],
    };
    const sale: Sale = {
      intents: [{ kind: 'create', method: 'POST', path: '/orders', body, answered: 0 }],
      orderId: undefined,
    };
    this.sales.push(sale);
    return sale;
  }

  /** @returns whether the request succeeded; false if the service is unreachable or returns 503. */
  async #send(client: Client, sale: Sale, intent: Intent): Promise<boolean> {
    let answer: Answer;
    try {
      // A request that hangs fails with a timeout here.
      answer = await withinSeconds(15, client.send(intent.method, intent.path, { body: intent.body }));
    } catch (error) {
      if (error instanceof TooLate) this.unexpected.push(`${intent.path}: no answer within 15 s`);
      this.unanswered++;
      return false;
    }
    if (answer.status === 503) {
      this.refused++;
      if (!answer.headers.has('retry-after')) this.unexpected.push(`${intent.path}: 503 without Retry-After`);
      return false;
    }
    this.#note(sale, intent, answer);
    return answer.status < 300;
  }

  #note(sale: Sale, intent: Intent, { status, body }: Answer): void {
    if (status !== (intent.kind === 'create' || intent.kind === 'refund' ? 201 : 200)) {
      this.unexpected.push(`${intent.method} ${intent.path}: ${status} ${JSON.stringify(body)}`);
      return;
    }
    const told = {
      id: body.id,
      external_id: body.external_id,
      ...(intent.kind === 'complete' && { completed_at: body.completed_at }),
    };
    if (intent.told === undefined) intent.told = told;
    else if (JSON.stringify(intent.told) !== JSON.stringify(told))
      this.unexpected.push(`${intent.path}: ${JSON.stringify(told)} after ${JSON.stringify(intent.told)}`);
    intent.answered++;
    if (intent.kind === 'create' && sale.orderId === undefined) {
      sale.orderId = body.id;
      sale.intents.push(...laterIntents(body.id, this.sales.indexOf(sale)));
    }
  }

  /** Expects every answered request in the database exactly once, under the ID in its response. */
  async expectStored(database: DataSource): Promise<void> {
    const rows = await database.query<(StoredOrder & { external_id: Buffer })[]>(
      `
      SELECT o.id, o.external_id, o.status, o.total_cents AS total,
             (SELECT COUNT(*) FROM refunds r WHERE r.order_id = o.id) AS refunds,
             (SELECT COUNT(*) FROM cashback_entries e WHERE e.order_id = o.id AND e.kind = 'earn') AS earned
        FROM orders o WHERE o.external_id LIKE ?`,
      [`${this.name}-%`],
    );
    const lost: unknown[] = [];
    for (const { intents } of this.sales) {
      for (const intent of intents.filter(({ answered }) => answered > 0)) {
        const externalId = (intents[0]!.body as { external_id: string }).external_id;
        const found = rows.filter((row) => row.external_id.toString() === externalId);
        if (found.length !== 1 || !isStored(intent, found[0]!)) lost.push({ intent, found });
      }
    }
    expect(lost).toEqual([]);
  }
}

class TooLate extends Error {}

async function withinSeconds<T>(seconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooLate()), seconds * 1000);
  });
  return Promise.race([work, tooLate]).finally(() => clearTimeout(timer));
}

interface StoredOrder {
  id: string;
  status: string;
  total: string | number;
  refunds: string | number;
  earned: string | number;
}

function isStored({ kind, told }: Intent, row: StoredOrder): boolean {
  switch (kind) {
    case 'create':
      return row.id === told?.id;
    case 'hold':
      return true;
    case 'amend':
      return Number(row.total) === 900;
    case 'complete':
      return ['completed', 'partially_refunded'].includes(row.status) && Number(row.earned) === 1;
    case 'cancel':
      return row.status === 'cancelled' && Number(row.earned) === 0;
    case 'refund':
      return row.status === 'partially_refunded' && Number(row.refunds) === 1;
  }
}
