import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { type Shared, SharedStatements } from '../platform/database/shared.js';
import { ApiUser } from './api-user.entity.js';
import { ByDto } from '../platform/http/by.dto.js';

const MAX_AGE_MS = 60_000;
const NAMES_KEPT = 10_000;

/** What API users are called: in a response for one resource at most a minute old, in lists as it is now. */
@Injectable()
export class UserNames {
  readonly #names = new Map<string, { name: string; readAt: number }>();
  readonly #read: Shared<string, string>;

  constructor(shared: SharedStatements) {
    this.#read = shared.createStatement('user_names', async (manager, ids) => {
      const users = await manager.find(ApiUser, { select: { id: true, name: true }, where: { id: In(ids) } });
      const names = new Map(users.map(({ id, name }) => [id, name]));
      return ids.map((id) => names.get(id) ?? id);
    });
  }

  /** Adds the names of all users to a response, which it returns. Not for use inside a transaction. */
  async fillIn<T>(response: T): Promise<T> {
    const authors = authorsIn(response);
    const isList = typeof response === 'object' && response !== null && 'data' in response;
    const ids = [...new Set(authors.map(({ user_id: id }) => id!))];
    const named = ids.map(async (id) => [id, await this.#nameOf(id, isList ? 0 : MAX_AGE_MS)] as const);
    const names = new Map(await Promise.all(named));
    for (const by of authors) Object.assign(by, { name: names.get(by.user_id!) });
    return response;
  }

  async #nameOf(id: string, maxAgeMs: number): Promise<string> {
    const known = this.#names.get(id);
    if (known !== undefined && performance.now() - known.readAt < maxAgeMs) return known.name;
    const name = await this.#read.get(id);
    if (this.#names.size >= NAMES_KEPT) this.#names.clear();
    this.#names.set(id, { name, readAt: performance.now() });
    return name;
  }
}

/** Finds the authors in a response that have no name yet. */
function authorsIn(response: unknown, found: ByDto[] = []): ByDto[] {
  if (typeof response !== 'object' || response === null || response instanceof Date) return found;
  if (!(response instanceof ByDto)) for (const part of Object.values(response)) authorsIn(part, found);
  else if (response.name === undefined) found.push(response);
  return found;
}
