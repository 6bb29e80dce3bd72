/* eslint jest/no-standalone-expect: off -- Its methods are called inside tests alone. */
import { expect } from '@jest/globals';
import type { TestingModuleBuilder } from '@nestjs/testing';
import type { Answer, Body, Client } from '../client.js';
import { findingsOf } from '../expectations.js';
import { aMerchant, type TestMerchant } from '../factories.js';
import { type Service, startService } from '../service.js';
import type { Wallet } from '../shop.js';

/**
 * The setting of a race: one or more services that share a database, and a merchant whose requests alternate between
 * them.
 */
export class Stage {
  /** All responses so far. */
  readonly answers: Answer<unknown>[] = [];

  constructor(
    /** An instance inside the test process, used to grant cashback, read rows, and check the invariants. */
    readonly service: Service,
    readonly merchant: TestMerchant,
    readonly clients: Client[] = [merchant.client],
  ) {}

  async send<T = Body>(turn: number, method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<Answer<T>> {
    const answer = await this.clients[turn % this.clients.length]!.send<T>(method, path, { body });
    this.answers.push(answer);
    return answer;
  }

  async wallet(document: string): Promise<Wallet> {
    return (await this.send<Wallet>(0, 'POST', '/wallets/search', { document })).body;
  }

  /** The findings of `reconcile`. */
  discrepancies(): Promise<unknown[]> {
    return findingsOf(this.service);
  }

  expectNoFailure(): void {
    expect(this.answers.filter(({ status }) => status >= 500).map(({ status, body }) => ({ status, body }))).toEqual(
      [],
    );
  }
}

/**
 * A stage whose service does one guarded step without its guard. Its pool is large enough for requests to conflict,
 * and they share no transaction.
 *
 * @param schema statements that drop database constraints that would protect the unsafe service
 */
export async function naiveStage(
  override: (builder: TestingModuleBuilder) => TestingModuleBuilder,
  schema: string[] = [],
): Promise<Stage> {
  const service = await startService({
    override,
    env: { DATABASE_POOL_SIZE: '10', BATCH: 'false', LOG_LEVEL: 'silent' },
  });
  for (const statement of schema) await service.dataSource.query(statement);
  return new Stage(service, await aMerchant(service));
}

/** A race: the concurrent requests and their expected result. */
export interface Race<Outcome = unknown> {
  title: string;
  run(stage: Stage): Promise<Outcome>;
  expectFair: (outcome: Outcome) => void;
  /** The wrong result of the unsafe variant. */
  expectUnfair: (outcome: Outcome) => void;
}

/** Hides the type of the outcome, so that races with different outcomes fit in one list. */
export const aRace = <Outcome>(race: Race<Outcome>): Race => race as Race;

/** The number of responses of each kind, such as `{ '200': 50, '422 redemption_exceeds_maximum 0.00': 150 }`. */
export function tally(answers: Answer<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const { code, maximum } = body as Record<string, string>;
    const kind = [status, code, maximum].filter((part) => part !== undefined).join(' ');
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/** Interleaves lists: 1,2,3 and a,b,c become 1,a,2,b,3,c. */
export function interleaved<T>(...lists: T[][]): T[] {
  return Array.from({ length: Math.max(...lists.map(({ length }) => length)) }, (_, at) =>
    lists.flatMap((list) => list.slice(at, at + 1)),
  ).flat();
}
