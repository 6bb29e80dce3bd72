import { Injectable } from '@nestjs/common';
import { Clock } from '../common/clock.js';
import { newId } from '../common/ids.js';
import { notFound, validationFailed } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { EventFeed } from './event-feed.entity.js';
import { Merchant } from './merchant.entity.js';
import { type Policy, policyFrom } from './policy.js';

const POLICY_MAX_AGE_MS = 1000;

const POLICIES_KEPT = 1000;

@Injectable()
export class MerchantsService {
  /** In the order in which they were read. */
  readonly #policies = new Map<string, { policy: Promise<Policy>; readAt: number }>();

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  async create(name: string, policy: Partial<Policy>): Promise<Merchant> {
    const now = this.clock.now();
    const merchant = { id: newId(now), name, policy: policyFrom(policy), createdAt: now };
    refuseContradiction(merchant.policy);
    await this.unitOfWork.transaction(async (manager) => {
      await manager.insert(Merchant, merchant);
      const merchantId = merchant.id;
      await manager.insert(EventFeed, { merchantId, lastSequence: 0, oldestSequence: 1, keptSince: now });
    });
    return merchant;
  }

  async select(id: string | undefined): Promise<Merchant[]> {
    return id === undefined ? this.list() : [await this.get(id)];
  }

  list(): Promise<Merchant[]> {
    return this.unitOfWork.statement((manager) => manager.find(Merchant, { order: { createdAt: 'ASC', id: 'ASC' } }));
  }

  /** Existing orders keep their policy. */
  async set(id: string, changes: { name?: string; policy: Partial<Policy> }): Promise<Merchant> {
    const changed = await this.unitOfWork.transaction(async (manager) => {
      const merchant = await manager.findOne(Merchant, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (merchant === null) throw notFound('no merchant has this ID');
      merchant.name = changes.name ?? merchant.name;
      merchant.policy = { ...merchant.policy, ...changes.policy };
      refuseContradiction(merchant.policy);
      await manager.update(Merchant, { id }, { name: merchant.name, policy: merchant.policy });
      return merchant;
    });
    this.#policies.delete(id);
    return changed;
  }

  /** The policy for new orders. It can be up to a second old if another process changed it. */
  policyOf(id: string): Promise<Policy> {
    const kept = this.#policies.get(id);
    const now = performance.now();
    if (kept !== undefined && now - kept.readAt < POLICY_MAX_AGE_MS) return kept.policy;
    this.#policies.delete(id);
    const read = { policy: this.get(id).then(({ policy }) => policy), readAt: now };
    this.#policies.set(id, read);
    const [oldest] = this.#policies.keys();
    if (this.#policies.size > POLICIES_KEPT && oldest !== undefined) this.#policies.delete(oldest);
    read.policy.catch(() => {
      if (this.#policies.get(id) === read) this.#policies.delete(id);
    });
    return read.policy;
  }

  async get(id: string): Promise<Merchant> {
    const merchant = await this.unitOfWork.statement((manager) => manager.findOneBy(Merchant, { id }));
    if (merchant === null) throw notFound('no merchant has this ID');
    return merchant;
  }
}

function refuseContradiction({ orderTtlMinutes, maxOrderTtlMinutes }: Policy): void {
  if (orderTtlMinutes <= maxOrderTtlMinutes) return;
  const detail = `must not be above max_order_ttl_minutes, which is ${maxOrderTtlMinutes}`;
  throw validationFailed([{ pointer: '/order_ttl_minutes', detail }]);
}
