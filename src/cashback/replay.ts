import { Injectable } from '@nestjs/common';
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { Config, derivedKeys } from '../platform/config/config.js';
import { violatedUniqueKey } from '../platform/database/errors.js';
import { differing, type Fault, Problem } from '../platform/values/problem.js';

/**
 * The canonical form of what a request asks for, by the names of its members: equivalent requests are equal. Money is
 * in centavos, and what is absent is null or its default.
 */
export interface Content {
  readonly [member: string]: Value;
}
type Value = string | number | boolean | null | Content | readonly Content[];

/** What an earlier request with the same key asked for, as far as it is known now. */
interface StoredContent<C> {
  content: C;
  /** The digest of what the request had; null if an earlier release did not keep it. */
  digest: Buffer | null;
}

/**
 * Recognizes repeated requests. The digest of the content that orders and grants were created with recognizes a replay
 * after they changed, or after the document was erased. A plain hash could be reversed by trying all documents, so the
 * digest uses a key that is not in the database.
 *
 * Stored digests must stay valid, so a new member is appended, and only where a content has it.
 */
@Injectable()
export class Replays {
  /** The key of the current secret comes first. */
  readonly #keys: [KeyObject, ...KeyObject[]];

  constructor(config: Config) {
    this.#keys = derivedKeys(config, 'cashback content');
  }

  digest(content: Content): Buffer {
    return hmac(this.#keys[0], content);
  }

  /**
   * Returns the members in which a request differs from an earlier one: none if it is a replay.
   *
   * @param erasable the members that an erasure removes. Those of the request are compared with the digest instead.
   */
  differencesFromStored<C extends Content>(sent: C, stored: StoredContent<C>, erasable: readonly (keyof C)[]): Fault[] {
    if (this.#matches(sent, stored.digest)) return [];
    const asSent = { ...stored.content };
    for (const member of erasable) asSent[member] = sent[member];
    return differences(sent, this.#matches(asSent, stored.digest) ? asSent : stored.content);
  }

  #matches(content: Content, expected: Buffer | null): boolean {
    if (expected === null) return false;
    return this.#keys.some((key) => timingSafeEqual(hmac(key, content), expected));
  }
}

/**
 * Makes what a request asks for, or finds what an earlier one with its key made. The unique key decides.
 *
 * @param find throws external_id_conflict if that has different content.
 */
export async function once<T>(
  find: () => Promise<T | undefined>,
  make: () => Promise<T>,
): Promise<{ made: T; replayed: boolean }> {
  const existing = await find();
  if (existing !== undefined) return { made: existing, replayed: true };
  try {
    return { made: await make(), replayed: false };
  } catch (error) {
    // The same request at the same time may have come first, and left too little for this one.
    const isKnown = error instanceof Problem || violatedUniqueKey(error) !== undefined;
    const meanwhile = isKnown ? await find() : undefined;
    if (meanwhile === undefined) throw error;
    return { made: meanwhile, replayed: true };
  }
}

function hmac(key: KeyObject, content: Content): Buffer {
  return createHmac('sha256', key).update(JSON.stringify(content)).digest();
}

/** Returns the members in which two contents differ, by their JSON Pointers. */
export function differences(sent: Content, existing: Content, pointer = ''): Fault[] {
  // `__proto__` is a valid key of metadata, so the members are own ones.
  const members = new Set([...Object.keys(sent), ...Object.keys(existing)]);
  return [...members].flatMap((member) =>
    differingValues(own(sent, member), own(existing, member), `${pointer}/${member}`),
  );
}

const own = (content: Content, member: string): Value | undefined =>
  Object.hasOwn(content, member) ? content[member] : undefined;

function differingValues(sent: Value | undefined, existing: Value | undefined, pointer: string): Fault[] {
  if (Array.isArray(sent) && Array.isArray(existing)) {
    if (sent.length !== existing.length)
      return [{ pointer, detail: `has ${sent.length} elements; the earlier request had ${existing.length}` }];
    return sent.flatMap((element: Content, at) => differences(element, existing[at] as Content, `${pointer}/${at}`));
  }
  if (isContent(sent) && isContent(existing)) return differences(sent, existing, pointer);
  return sent === existing ? [] : [differing(pointer)];
}

const isContent = (value: unknown): value is Content => typeof value === 'object' && value !== null;
