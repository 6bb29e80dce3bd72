import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../common/clock.js';
import { newId } from '../common/ids.js';
import { notFound } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { Merchant } from './merchant.entity.js';
import { DEFAULT_POLICY, type Policy } from './policy.js';

@Injectable()
export class MerchantsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  async create(name: string, policy: Partial<Policy>): Promise<Merchant> {
    const now = this.clock.now();
    const merchant = { id: newId(now), name, policy: { ...DEFAULT_POLICY, ...policy }, createdAt: now };
    await this.dataSource.manager.insert(Merchant, merchant);
    return merchant;
  }

  list(): Promise<Merchant[]> {
    return this.dataSource.manager.find(Merchant, { order: { createdAt: 'ASC', id: 'ASC' } });
  }

  /**
   * Changes a merchant's name or parts of its policy; orders that exist keep the policy they have.
   *
   * @throws Problem not_found.
   */
  async set(id: string, changes: { name?: string; policy: Partial<Policy> }): Promise<Merchant> {
    return this.unitOfWork.transaction(async (manager) => {
      const merchant = await manager.findOne(Merchant, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (merchant === null) throw notFound();
      merchant.name = changes.name ?? merchant.name;
      merchant.policy = { ...merchant.policy, ...changes.policy };
      await manager.update(Merchant, { id }, { name: merchant.name, policy: merchant.policy });
      return merchant;
    });
  }

  /** @throws Problem not_found. */
  async get(id: string): Promise<Merchant> {
    const merchant = await this.dataSource.manager.findOneBy(Merchant, { id });
    if (merchant === null) throw notFound();
    return merchant;
  }
}
