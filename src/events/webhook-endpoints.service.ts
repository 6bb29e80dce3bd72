import { Injectable } from '@nestjs/common';
import { isIP } from 'node:net';
import { type EntityManager, Not } from 'typeorm';
import { EventFeed } from '../merchants/merchant.entity.js';
import { Config } from '../platform/config/config.js';
import { LOCKED } from '../platform/database/rows.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { newId } from '../platform/values/ids.js';
import { notFound, Problem, validationFailed } from '../platform/values/problem.js';
import { Clock, SECOND_MS } from '../platform/values/time.js';
import { dueNow, FeedEvent, WebhookEndpoint } from './event.entity.js';
import { positionBefore, refusePosition } from './events.service.js';
import { DeliveryService } from './webhook-delivery.service.js';
import {
  type SeekDto,
  type WebhookAttemptDto,
  type WebhookEndpointDto,
  type WebhookEndpointRequestDto,
  type WebhookEndpointWithSecretDto,
} from './webhook-endpoint.dto.js';
import { newSecret, WebhookSecrets } from './webhook-secrets.js';

const MAX_ENDPOINTS = 20;

/** A request waits for a ping, so it is shorter than an attempt. */
const PING_MS = 3 * SECOND_MS;

/** Names that only a private network resolves. */
const PRIVATE_NAME = /^[^.]*$|\.(localhost|local|localdomain|internal|lan|home\.arpa)$/;

type Key = Pick<WebhookEndpoint, 'id' | 'merchantId'>;
type Changed = Partial<WebhookEndpoint>;
type Change = (endpoint: WebhookEndpoint, feed: EventFeed, manager: EntityManager) => Changed | Promise<Changed>;

/** What merchants and the operator do with webhook endpoints. */
@Injectable()
export class WebhookEndpointsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly secrets: WebhookSecrets,
    private readonly deliveries: DeliveryService,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** Creates an endpoint that gets the events after the feed's current end. */
  async create(merchantId: string, content: WebhookEndpointRequestDto): Promise<WebhookEndpointWithSecretDto> {
    const secret = newSecret();
    const createdAt = this.clock.now();
    const created = await this.unitOfWork.transaction(async (manager) => {
      const { lastSequence: cursor } = await lockFeed(manager, merchantId);
      const endpoint: WebhookEndpoint = {
        id: newId(createdAt),
        merchantId,
        ...this.#contentOf(content),
        secrets: [],
        status: 'active',
        cursor,
        ...dueNow(createdAt),
        lastAttempt: null,
        createdAt,
      };
      endpoint.secrets = this.secrets.add(secret, endpoint);
      const others = await refuseTaken(manager, endpoint);
      if (others >= MAX_ENDPOINTS) throw new Problem('too_many_webhook_endpoints', { maximum: MAX_ENDPOINTS });
      await manager.insert(WebhookEndpoint, endpoint);
      return show(manager, endpoint);
    });
    return { ...created, secret };
  }

  list(merchantId: string): Promise<WebhookEndpointDto[]> {
    return this.unitOfWork.snapshot(async (manager) => {
      const page = { order: { id: 'ASC' }, take: MAX_ENDPOINTS } as const;
      const found = await manager.find(WebhookEndpoint, { where: { merchantId }, ...page });
      return Promise.all(found.map((endpoint) => show(manager, endpoint)));
    });
  }

  get(merchantId: string, id: string): Promise<WebhookEndpointDto> {
    return this.unitOfWork.snapshot(async (manager) => show(manager, await find(manager, { id, merchantId })));
  }

  /** Replaces URL, types and batch, and forgets failures. The cursor stays. */
  replace(merchantId: string, id: string, content: WebhookEndpointRequestDto): Promise<WebhookEndpointDto> {
    return this.#change(merchantId, id, async (_endpoint, _feed, manager) => {
      const replaced = this.#contentOf(content);
      await refuseTaken(manager, { id, merchantId, url: replaced.url });
      return { ...replaced, ...dueNow(this.clock.now()) };
    });
  }

  async delete(merchantId: string, id: string): Promise<void> {
    const key = { id, merchantId };
    const { affected } = await this.unitOfWork.statement((manager) => manager.delete(WebhookEndpoint, key));
    if (affected === 0) throw unknown();
  }

  /** Sends a signed test event, also to a disabled endpoint. Nothing changes. */
  async ping(merchantId: string, id: string): Promise<WebhookAttemptDto> {
    const endpoint = await this.unitOfWork.statement((manager) => find(manager, { id, merchantId }));
    const channel = this.deliveries.open(endpoint);
    const now = this.clock.now();
    const event = { id: `evt_${newId(now)}`, type: 'ping', timestamp: now };
    const { attempt } = await channel.send([event], now, PING_MS).finally(() => channel.close());
    return attempt;
  }

  /** Adds a secret. Earlier ones also sign for 24 hours. */
  async rotateSecret(merchantId: string, id: string): Promise<WebhookEndpointWithSecretDto> {
    const secret = newSecret();
    const changed = await this.#change(merchantId, id, (endpoint) => ({ secrets: this.secrets.add(secret, endpoint) }));
    return { ...changed, secret };
  }

  /** Delivers again, from where it stopped. */
  enable(merchantId: string, id: string): Promise<WebhookEndpointDto> {
    return this.#change(merchantId, id, ({ cursor }, feed) => {
      refusePosition(cursor, feed, { pointer: '' });
      return { status: 'active', ...dueNow(this.clock.now()) };
    });
  }

  /** Delivers the events after a sequence, or from an instant on. */
  async seek(merchantId: string, id: string, { after, from }: SeekDto): Promise<WebhookEndpointDto> {
    if (after !== undefined && from !== undefined)
      throw validationFailed([{ pointer: '/from', detail: 'cannot be combined with after' }]);
    return this.#change(merchantId, id, async (_endpoint, feed, manager) => {
      const cursor = from === undefined ? after : await positionBefore(manager, feed, new Date(from));
      if (cursor === undefined) throw validationFailed([{ pointer: '/after', detail: 'is required without from' }]);
      refusePosition(cursor, feed, { pointer: '/after' });
      return { cursor, ...dueNow(this.clock.now()) };
    });
  }

  /** Forgets what receivers answered: a response may repeat the event of a customer who is erased. */
  async forgetAttempts(merchantId: string): Promise<void> {
    await this.unitOfWork.statement((manager) =>
      manager.update(WebhookEndpoint, { merchantId }, { lastAttempt: null }),
    );
  }

  #contentOf({ url, types, batch }: WebhookEndpointRequestDto): Pick<WebhookEndpoint, 'url' | 'types' | 'batch'> {
    const detail = urlFault(url, this.config.WEBHOOK_ALLOW_PRIVATE);
    if (detail === undefined) return { url: new URL(url).href, types: types ?? null, batch: batch ?? 1 };
    throw new Problem('webhook_url_refused', { errors: [{ pointer: '/url', detail }] });
  }

  /** Changes an endpoint. Its merchant's feed is locked, then its row. */
  #change(merchantId: string, id: string, changeOf: Change): Promise<WebhookEndpointDto> {
    return this.unitOfWork.transaction(async (manager) => {
      const feed = await lockFeed(manager, merchantId);
      const endpoint = await find(manager, { id, merchantId }, LOCKED);
      const changed = await changeOf(endpoint, feed, manager);
      await manager.update(WebhookEndpoint, { id, merchantId }, changed);
      return show(manager, { ...endpoint, ...changed });
    });
  }
}

/** Locks a merchant's feed, and with it the number and the URLs of its endpoints. */
async function lockFeed(manager: EntityManager, merchantId: string): Promise<EventFeed> {
  const feed = await manager.findOne(EventFeed, { where: { merchantId }, lock: LOCKED });
  if (feed === null) throw notFound('no merchant has this ID');
  return feed;
}

/** @throws Problem not_found, also for an endpoint of another merchant. */
async function find(manager: EntityManager, where: Key, lock?: typeof LOCKED): Promise<WebhookEndpoint> {
  const endpoint = await manager.findOne(WebhookEndpoint, { where, ...(lock && { lock }) });
  if (endpoint === null) throw unknown();
  return endpoint;
}

const unknown = (): Problem => notFound('no webhook endpoint has this ID');

/**
 * @returns how many other endpoints the merchant has.
 * @throws Problem webhook_url_taken, so that a request that is repeated does not create a second endpoint.
 */
async function refuseTaken(manager: EntityManager, { id, merchantId, url }: Key & { url: string }): Promise<number> {
  const others = await manager.findBy(WebhookEndpoint, { merchantId, id: Not(id) });
  const taken = others.find((other) => other.url === url);
  if (taken === undefined) return others.length;
  throw new Problem('webhook_url_taken', { existing_id: taken.id });
}

async function show(manager: EntityManager, endpoint: WebhookEndpoint): Promise<WebhookEndpointDto> {
  const { id, merchantId, url, types, batch, status, cursor, failures } = endpoint;
  const { nextAttemptAt, lastAttempt, createdAt } = endpoint;
  const { lastSequence } = await manager.findOneByOrFail(EventFeed, { merchantId });
  const next = await manager.findOneBy(FeedEvent, { merchantId, sequence: cursor + 1 });
  return {
    id,
    url,
    types,
    batch,
    status,
    cursor,
    behind: Math.max(0, lastSequence - cursor),
    oldest_waiting_at: next?.occurredAt ?? null,
    failures,
    next_attempt_at: failures > 0 && status === 'active' ? nextAttemptAt : null,
    last_attempt: lastAttempt,
    created_at: createdAt,
  };
}

/** Returns what is wrong with a URL, as the end of a sentence. Each connection checks which address a name has. */
function urlFault(text: string, allowsPrivate: boolean): string | undefined {
  if (!URL.canParse(text)) return 'must be a URL, such as https://shop.example/webhooks';
  const { protocol, hostname, port, username, password, hash, href } = new URL(text);
  if (href.length > 2000) return 'must have at most 2000 characters when it is percent-encoded';
  if (username !== '' || password !== '') return 'must not have a user or a password: check the signature instead';
  if (hash !== '') return 'must not have a fragment';
  if (allowsPrivate) return ['https:', 'http:'].includes(protocol) ? undefined : 'must begin with https:// or http://';
  if (protocol !== 'https:') return 'must begin with https://';
  if (port !== '') return 'must use port 443';
  const name = hostname.replace(/\.+$/, '');
  if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return 'must have a host name, not an IP address';
  return PRIVATE_NAME.test(name) ? 'must have a public host name' : undefined;
}
