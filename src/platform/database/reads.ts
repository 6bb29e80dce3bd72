import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { Clock } from '../values/time.js';
import { LARGEST_PAGE, type List, type PageRequest, readPage } from './lists.js';
import { UnitOfWork } from './unit-of-work.js';

/** What a merchant asked, and what answers need: the snapshot to read, the merchant's days, and the time. */
export interface Asked<Query = unknown> {
  manager: EntityManager;
  merchantId: string;
  query: Query;
  /** The time zone of the merchant's days. */
  timeZone: string;
  now: Date;
}

/** A report, or another answer to what a merchant asked. */
export type Answer<Query, T> = (asked: Asked<Query>) => Promise<T>;

/**
 * Declares a list for one request, also after it has looked for what the list is of.
 *
 * @throws Problem validation_failed if the filters of the request cannot be combined.
 */
export type ListOf<Query, Dto> = (asked: Asked<Query>) => List<Dto> | Promise<List<Dto>>;

/** A page of a list, as a response has it. */
export class Page<Dto> {
  readonly #next: (cursor: string) => Promise<Page<Dto>>;
  readonly #timeZone: string;

  /** @param next_cursor the `cursor` of the next page; null on the last page. */
  constructor(
    readonly data: Dto[],
    readonly next_cursor: string | null,
    next: (cursor: string) => Promise<Page<Dto>>,
    timeZone: string,
  ) {
    this.#next = next;
    this.#timeZone = timeZone;
  }

  /** Of the merchant's days. */
  get timeZone(): string {
    return this.#timeZone;
  }

  /** Returns the following page, of the largest size; undefined after the last one. */
  next(): Promise<Page<Dto>> | undefined {
    return this.next_cursor === null ? undefined : this.#next(this.next_cursor);
  }
}

/** Knows the time zone of each merchant's days. */
export abstract class TimeZones {
  /** @throws Problem not_found for an unknown merchant. */
  abstract timeZoneOf(merchantId: string): Promise<string>;
}

/** Reads what a merchant asks for, each time on one snapshot. */
@Injectable()
export class Reads {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly timeZones: TimeZones,
    private readonly clock: Clock,
  ) {}

  /** @throws Problem not_found for an unknown merchant, and those of the answer. */
  async read<Query, T>(merchantId: string, query: Query, answer: Answer<Query, T>): Promise<T> {
    const timeZone = await this.timeZones.timeZoneOf(merchantId);
    return this.unitOfWork.snapshot((manager) =>
      answer({ manager, merchantId, query, timeZone, now: this.clock.now(merchantId) }),
    );
  }

  /** @throws Problem validation_failed if the cursor is not one of this list. */
  page<Query extends PageRequest, Dto>(
    merchantId: string,
    query: Query,
    listOf: ListOf<Query, Dto>,
  ): Promise<Page<Dto>> {
    return this.read(merchantId, query, async (asked) => {
      const { data, next_cursor } = await readPage(asked, query, await listOf(asked));
      const next = (cursor: string): Promise<Page<Dto>> =>
        this.page(merchantId, { ...query, limit: LARGEST_PAGE, cursor }, listOf);
      return new Page(data, next_cursor, next, asked.timeZone);
    });
  }
}
