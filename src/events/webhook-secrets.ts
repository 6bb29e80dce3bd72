import { Injectable } from '@nestjs/common';
import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { MoreThan } from 'typeorm';
import { Config, derivedKeys } from '../platform/config/config.js';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { LOCKED } from '../platform/database/rows.js';
import { type SweepProgress, type SweepTask } from '../platform/database/sweep.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { after, Clock, DAY_MS } from '../platform/values/time.js';
import { type StoredSecret, WebhookEndpoint } from './event.entity.js';

/** How long an earlier secret signs beside its successor, and how many secrets sign at most. */
const OVERLAP_MS = DAY_MS;
const MAX_SECRETS = 5;

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The endpoints that are read at a time. */
const PAGE = 100;

type Owner = Pick<WebhookEndpoint, 'id' | 'secrets'>;

/** The secrets that sign events (Standard Webhooks). They are encrypted with a key that is not in the database. */
@Injectable()
export class WebhookSecrets implements SweepTask {
  /** The key of the current JWT_SECRET comes first. */
  readonly #keys: [KeyObject, ...KeyObject[]];

  constructor(
    config: Config,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {
    this.#keys = derivedKeys(config, 'webhook secrets');
  }

  /** Returns the secrets to store when one is added. */
  add(secret: string, { id, secrets }: Owner): StoredSecret[] {
    const now = this.clock.now();
    const end = after(now, OVERLAP_MS).toISOString();
    const earlier = secrets
      .filter((one) => isValid(one, now))
      .map(({ sealed, until }) => ({ sealed, until: until ?? end }));
    return [{ sealed: this.#seal(secret, id), until: null }, ...earlier].slice(0, MAX_SECRETS);
  }

  /** Returns what signs for an endpoint: all of its secrets that are valid and can be read. */
  signersOf({ id, secrets }: Owner): Webhook[] {
    const valid = secrets.filter((secret) => isValid(secret, this.clock.now()));
    const opened = valid.flatMap(({ sealed }) => this.#open(sealed, id, this.#keys) ?? []);
    return opened.map((secret) => new Webhook(secret));
  }

  /** Encrypts secrets with the key of the current JWT_SECRET, so that the previous one can be removed. */
  async run(): Promise<SweepProgress> {
    for (let id = ''; ;) {
      const query = { where: { id: MoreThan(id) }, order: { id: 'ASC' }, take: PAGE, comment: ALL_MERCHANTS } as const;
      const page = await this.unitOfWork.statement((manager) => manager.find(WebhookEndpoint, query));
      for (const endpoint of page.filter((one) => this.#isOld(one))) await this.#sealAgain(endpoint);
      if (page.length < PAGE) return { hasMore: false };
      id = page.at(-1)!.id;
    }
  }

  #isOld({ id, secrets }: Owner): boolean {
    return secrets.some(({ sealed }) => this.#open(sealed, id, [this.#keys[0]]) === undefined);
  }

  async #sealAgain({ id, merchantId }: WebhookEndpoint): Promise<void> {
    await this.unitOfWork.transaction(async (manager) => {
      const endpoint = await manager.findOne(WebhookEndpoint, { where: { id, merchantId }, lock: LOCKED });
      const secrets = endpoint?.secrets.map(({ sealed, until }) => {
        const secret = this.#open(sealed, id, this.#keys);
        return { sealed: secret === undefined ? sealed : this.#seal(secret, id), until };
      });
      if (secrets !== undefined) await manager.update(WebhookEndpoint, { id, merchantId }, { secrets });
    });
  }

  /** Only the endpoint with this ID can open it. */
  #seal(secret: string, endpointId: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#keys[0], iv).setAAD(Buffer.from(endpointId));
    const sealed = Buffer.concat([iv, cipher.update(secret, 'utf8'), cipher.final()]);
    return Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64');
  }

  #open(sealed: string, endpointId: string, keys: readonly KeyObject[]): string | undefined {
    const bytes = Buffer.from(sealed, 'base64');
    for (const key of keys) {
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(endpointId)).setAuthTag(bytes.subarray(-TAG_BYTES));
        return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)).toString() + decipher.final('utf8');
      } catch {
        // Sealed with another key, or changed.
      }
    }
    return undefined;
  }
}

export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

const isValid = ({ until }: StoredSecret, now: Date): boolean => until === null || new Date(until) > now;
