/* eslint jest/no-standalone-expect: off -- Its methods are called inside tests alone. */
import { expect } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { type Answer, Client } from '../client.js';

/** A request that a merchant sends until it is answered, and sometimes sends again after that. */
interface Intent {
  kind: keyof typeof EVENTS;
  method: 'POST' | 'PUT';
  path: string;
  body: unknown;
  answered: number;
  /** The values of the first response that must never change. */
  told?: Record<string, unknown>;
}

/** What each kind of request is in the feed, once it was answered. */
export const EVENTS = {
  create: ['order.created'],
  sell: ['order.created', 'order.completed'],
  hold: ['order.redemption_held'],
  amend: ['order.amended'],
  complete: ['order.completed'],
  cancel: ['order.cancelled'],
  refund: ['order.refunded'],
  refund_again: [],
  void_refund: ['order.refund_voided'],
  debit: ['cashback.debited'],
  void_debit: ['cashback.debit_voided'],
} as const;
const CREATING: readonly string[] = ['create', 'sell', 'refund', 'refund_again', 'debit'] satisfies Intent['kind'][];

/** The number of sales that are finished at once, and the maximum number of attempts per request. */
const FINISHERS = 10;
const ATTEMPTS = 50;

const AMENDED_TOTAL = '9.00';

interface Sale {
  intents: Intent[];
  orderId: string | undefined;
}

function intent(kind: Intent['kind'], path: string, body?: unknown, method: Intent['method'] = 'POST'): Intent {
  return { kind, method, path, body, answered: 0 };
}

/** Every fifth sale is one request. */
const isWhole = (number: number): boolean => number % 5 === 0;

/**
 * The later requests of a sale, in order. A sale in one request has a refund that is undone, and another one. Of the
 * others, one in three is cancelled; the rest are amended, completed, and refunded, and a few customers are debited.
 */
function laterIntents(orderId: string, externalId: string, number: number, document: string): Intent[] {
  const path = `/orders/${orderId}`;
  const refund = (external_id: string): Intent => intent('refund', `${path}/refunds`, { external_id, amount: '3.33' });
  if (isWhole(number)) return [refund('DEV-0'), refund('DEV-1')];
  const hold = intent('hold', `${path}/redemption`, { amount: '1.00' }, 'PUT');
  if (number % 3 === 0) return [hold, intent('cancel', `${path}/cancel`)];
  const cart = { total: AMENDED_TOTAL, items: [{ id: 'sku-2', price: AMENDED_TOTAL }], payment_methods: [] };
  const complete = intent('complete', `${path}/complete`, number % 2 === 0 ? {} : { redeem: '1.00' });
  const debit = { external_id: `${externalId}-DEB`, document, amount: '1.00', reason: 'Granted twice' };
  return [
    ...[hold, intent('amend', path, cart, 'PUT'), complete, refund('DEV-1')],
    ...(number % 4 === 1 ? [intent('debit', '/debits', debit)] : []),
  ];
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
    const sold = { ...body, complete: { redeem: '1.00' } };
    const first = isWhole(number) ? intent('sell', '/orders', sold) : intent('create', '/orders', body);
    const sale: Sale = { intents: [first], orderId: undefined };
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
    if (status !== (CREATING.includes(intent.kind) ? 201 : 200)) {
      this.unexpected.push(`${intent.method} ${intent.path}: ${status} ${JSON.stringify(body)}`);
      return;
    }
    const told = {
      id: body.id,
      external_id: body.external_id,
      ...(['complete', 'sell'].includes(intent.kind) && { completed_at: body.completed_at }),
    };
    if (intent.told === undefined) {
      intent.told = told;
      sale.intents.splice(sale.intents.indexOf(intent) + 1, 0, ...this.#after(sale, intent, body.id));
    } else if (JSON.stringify(intent.told) !== JSON.stringify(told))
      this.unexpected.push(`${intent.path}: ${JSON.stringify(told)} after ${JSON.stringify(intent.told)}`);
    intent.answered++;
  }

  /** What can be sent once the ID of an answer is known: every second debit is voided. */
  #after(sale: Sale, { kind, path, body: sent, told }: Intent, id: string): Intent[] {
    const number = this.sales.indexOf(sale) + 1;
    const { document, external_id } = (sent ?? {}) as { document: string; external_id: string };
    if (kind === 'create' || kind === 'sell') {
      sale.orderId = id;
      return laterIntents(id, external_id, number, document);
    }
    if (kind === 'refund' && external_id === 'DEV-0') {
      const voided = intent('void_refund', `${path}/${id}/void`, { reason: 'The wrong order' });
      return [voided, { ...intent('refund_again', path, sent), told: told! }];
    }
    return kind === 'debit' && number % 8 === 1 ? [intent('void_debit', `${path}/${id}/void`)] : [];
  }

  /** Expects every answered request in the database exactly once, under the ID in its response. */
  async expectStored(database: DataSource): Promise<void> {
    const read = <Row>(sql: string): Promise<Row[]> => database.query(sql, [`${this.name}-%`]);
    const rows = await read<StoredOrder>(
      `SELECT o.id, o.external_id, o.status, o.total_cents AS total,
              (SELECT COUNT(*) FROM cashback_entries e WHERE e.order_id = o.id AND e.kind = 'earn') AS earned
         FROM orders o WHERE o.external_id LIKE ?`,
    );
    const refunds = await read<StoredWay>(
      `SELECT r.id, r.amount_cents AS amount, r.voided_at IS NOT NULL AS undone
         FROM refunds r JOIN orders o ON o.id = r.order_id WHERE o.external_id LIKE ?`,
    );
    const debits = await read<StoredWay>(
      `SELECT d.id, d.restored_cents = d.amount_cents AS undone,
              -(SELECT SUM(e.amount_cents) FROM cashback_entries e WHERE e.debit_id = d.id AND e.amount_cents < 0) AS amount
         FROM debits d WHERE d.external_id LIKE ?`,
    );
    const lost: unknown[] = [];
    for (const { intents } of this.sales) {
      for (const intent of intents.filter(({ answered }) => answered > 0)) {
        const externalId = (intents[0]!.body as { external_id: string }).external_id;
        const found = rows.filter((row) => String(row.external_id) === externalId);
        const ways = [...refunds, ...debits].filter(({ id }) => id === intent.told!.id);
        if (found.length !== 1 || !isStored(intent, found[0]!, ways[0])) lost.push({ intent, found, ways });
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
  external_id: Buffer;
  status: string;
  total: string | number;
  earned: string | number;
}

/** A refund or a debit, what it took, and whether it was undone. */
interface StoredWay {
  id: string;
  amount: string | number;
  undone: string | number;
}

function isStored({ kind, told }: Intent, row: StoredOrder, way: StoredWay | undefined): boolean {
  const isCompleted = ['completed', 'partially_refunded'].includes(row.status) && Number(row.earned) === 1;
  switch (kind) {
    case 'create':
      return row.id === told?.id;
    case 'sell':
      return row.id === told?.id && isCompleted;
    case 'hold':
      return true;
    case 'amend':
      return Number(row.total) === 900;
    case 'complete':
      return isCompleted;
    case 'cancel':
      return row.status === 'cancelled' && Number(row.earned) === 0;
    case 'refund':
    case 'refund_again':
      return isCompleted && Number(way?.amount) === 333;
    case 'debit':
      return Number(way?.amount) === 100;
    case 'void_refund':
    case 'void_debit':
      return Number(way?.undone) === 1;
  }
}
