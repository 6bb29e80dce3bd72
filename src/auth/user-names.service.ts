import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { type Shared, SharedStatements } from '../platform/database/shared.js';
import { type By, OPERATOR } from '../platform/values/caller.js';
import { ApiUser } from './api-user.entity.js';
import { type ByDto } from './by.dto.js';

/** Returns who made a change, as responses say it; null for what a date does. */
export type WhoIs = (by: By) => ByDto | null;

const MAX_AGE_MS = 60_000;
const NAMES_KEPT = 10_000;

/** What API users are called, at most a minute old. */
@Injectable()
export class UserNames {
  readonly #names = new Map<string, { name: string; readAt: number }>();
  readonly #read: Shared<string, string>;

  constructor(shared: SharedStatements) {
    this.#read = shared.create('user_names', async (manager, ids) => {
      const names = await readNames(manager, ids);
      return ids.map((id) => names.get(id) ?? id);
    });
  }

  /** Not for a transaction, which reads names with `readUserNames`. */
  async of(authors: readonly By[]): Promise<WhoIs> {
    const names = await Promise.all(usersAmong(authors).map(async (id) => [id, await this.#nameOf(id)] as const));
    return whoIs(new Map(names));
  }

  async #nameOf(id: string): Promise<string> {
    const known = this.#names.get(id);
    if (known !== undefined && performance.now() - known.readAt < MAX_AGE_MS) return known.name;
    const name = await this.#read.get(id);
    if (this.#names.size >= NAMES_KEPT) this.#names.clear();
    this.#names.set(id, { name, readAt: performance.now() });
    return name;
  }
}

export async function readUserNames(manager: EntityManager, authors: readonly By[]): Promise<WhoIs> {
  return whoIs(await readNames(manager, usersAmong(authors)));
}

async function readNames(manager: EntityManager, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const users = await manager.find(ApiUser, { select: { id: true, name: true }, where: { id: In(ids) } });
  return new Map(users.map(({ id, name }) => [id, name]));
}

function usersAmong(authors: readonly By[]): string[] {
  return [...new Set(authors)].filter((by): by is string => by !== null && by !== OPERATOR);
}

const whoIs =
  (names: ReadonlyMap<string, string>): WhoIs =>
  (by) => {
    if (by === null) return null;
    return by === OPERATOR ? { user_id: null, name: OPERATOR } : { user_id: by, name: names.get(by) ?? by };
  };
