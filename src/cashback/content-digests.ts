import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { derivedKeys } from '../config/signing-secrets.js';

/**
 * Digests of the content that orders and grants were created with. They recognize a replay after the document was
 * erased. A plain hash could be reversed by trying all documents, so the digest uses a key that is not in the database.
 *
 * A content is a list of members in a fixed order, because the database reorders JSON members. Stored digests must stay
 * valid, so a new member is appended, and only where a content has it.
 */
@Injectable()
export class ContentDigests {
  /** The key of the current secret comes first. */
  readonly #keys: [KeyObject, ...KeyObject[]];

  constructor(config: Config) {
    this.#keys = derivedKeys(config, 'cashback content');
  }

  of(content: readonly unknown[]): Buffer {
    return digest(this.#keys[0], content);
  }

  matches(content: readonly unknown[], expected: Buffer): boolean {
    return this.#keys.some((key) => timingSafeEqual(digest(key, content), expected));
  }
}

function digest(key: KeyObject, content: readonly unknown[]): Buffer {
  return createHmac('sha256', key).update(JSON.stringify(content)).digest();
}
