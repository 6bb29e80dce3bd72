import { Injectable } from '@nestjs/common';
import { In, MoreThanOrEqual } from 'typeorm';
import { ApiUser } from '../auth/api-user.entity.js';
import { ApiUsersService } from '../auth/api-users.service.js';
import { Entry } from '../cashback/entry.entity.js';
import { GrantsService, type GrantState, readGrantStates } from '../cashback/grants.service.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { COMPLETED_STATUSES } from '../orders/order-transitions.js';
import { Order } from '../orders/order.entity.js';
import { OrdersService } from '../orders/orders.service.js';
import { toRefundDto } from '../orders/refund.dto.js';
import { readVoidable } from '../orders/refund-voids.js';
import { Refund } from '../orders/refund.entity.js';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OPERATOR } from '../platform/values/caller.js';
import { beforeIdsOf, readId } from '../platform/values/ids.js';
import { exactCents } from '../platform/values/money.js';
import { notFound } from '../platform/values/problem.js';
import { Clock } from '../platform/values/time.js';
import { type Row, toJson } from './output.js';

/** An order's ID, or the merchant and its own ID of the order. */
export type OrderName = { id: string } | { merchantId: string; externalId: string };

/** The number of grants that are read, or voided, at once. */
const PAGE = 100;

const NO_USER = 'no user has this ID';

/**
 * Shows an order, or what a user with a stolen token, or a system with a mistake, did, and takes such a user's grants
 * back.
 */
@Injectable()
export class RecordsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: OrdersService,
    private readonly users: ApiUsersService,
    private readonly merchants: MerchantsService,
    private readonly grants: GrantsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns an order as the API shows it, with its merchant, the policy that it keeps, its latest refunds and its
   * latest ledger entries.
   *
   * @param take the maximum number of each.
   * @throws Problem not_found.
   */
  async order(name: OrderName, take: number): Promise<object> {
    const stored = await this.unitOfWork.statement((manager) =>
      manager.findOne(Order, { where: name, ...('id' in name && { comment: ALL_MERCHANTS }) }),
    );
    if (stored === null) throw notFound('id' in name ? 'no order has this ID' : 'no order has this external_id');
    const { id: orderId, merchantId, policy } = stored;
    const where = { orderId, merchantId };
    const { refunds, entries } = await this.unitOfWork.snapshot(async (manager) => {
      const asked = { manager, merchantId, now: this.clock.now(merchantId) };
      const found = await manager.find(Refund, { where, order: { createdAt: 'DESC', id: 'DESC' }, take });
      const voidable = await readVoidable(asked, found);
      return {
        refunds: found.map((refund) => toRefundDto(refund, stored.externalId, voidable.has(refund.id))),
        entries: await manager.find(Entry, { where, order: { seq: 'DESC' }, take }),
      };
    });
    const shown = { merchant_id: merchantId, policy: toJson(policy), refunds, entries: entries.map(toJson) };
    return { ...(await this.orders.get(merchantId, orderId)), ...shown };
  }

  /**
   * Returns the grants that an API user made, and the orders that it completed or gave another customer, from an
   * instant on.
   *
   * @param idOrEmail of the user. Only an email has an `@`.
   * @param voiding voids each grant, as {@link GrantsService.void} does; undefined only shows them.
   * @param take the maximum number of grants and of orders that are listed; the sums are of all.
   * @throws Problem not_found.
   */
  async workOf(
    idOrEmail: string,
    since: Date,
    voiding: { reason: string | null } | undefined,
    take: number,
  ): Promise<Row> {
    const user = await this.#user(idOrEmail);
    const { id: userId, name: userName, merchantId } = user;
    const { timeZone } = await this.merchants.policyOf(merchantId);
    // What is voided was perhaps voided before. What orders hold of the remaining amount stays.
    const sums = { grantedCents: 0, remainingCents: 0, heldCents: 0, voidedCents: 0 };
    const grants: object[] = [];
    let grantCount = 0;
    for await (const before of this.#grantsOf(user, since, timeZone)) {
      const page = voiding === undefined ? before : await this.#void(before, voiding.reason);
      grantCount += page.length;
      for (const { grant, credit, remainingCents, heldCents } of page) {
        sums.grantedCents += credit.amountCents;
        sums.remainingCents += remainingCents;
        sums.heldCents += heldCents;
        sums.voidedCents += grant.voidedCents ?? 0;
      }
      if (grants.length < take) grants.push(...page.slice(0, take - grants.length).map(grantRowOf));
    }
    const { completedOrders, ...completed } = await this.#completedBy(user, since, take);
    const correctedOrders = await this.#correctedBy(user, since, take);
    return toJson({
      ...{ userId, userName, merchantId, timeZone, since, grantCount, ...sums, ...completed },
      ...{ grants, completedOrders, correctedOrders },
    });
  }

  async #user(idOrEmail: string): Promise<ApiUser> {
    if (idOrEmail.includes('@')) return this.users.get(idOrEmail);
    const id = readId(idOrEmail, NO_USER);
    const user = await this.unitOfWork.statement((manager) => manager.findOneBy(ApiUser, { id }));
    if (user === null) throw notFound(NO_USER);
    return user;
  }

  /** The oldest first. Their IDs begin with the instant of their creation. */
  async *#grantsOf({ id: userId, merchantId }: ApiUser, since: Date, timeZone: string): AsyncGenerator<GrantState[]> {
    let [after, isEnd] = [beforeIdsOf(since), false];
    while (!isEnd) {
      const page = await this.unitOfWork.snapshot(async (manager) => {
        const keys = await manager.query<{ creditId: string; merchantId: string }[]>(
          `SELECT credit_id AS creditId, merchant_id AS merchantId
             FROM cashback_grants FORCE INDEX (ix_cashback_grants_user)
            WHERE merchant_id = ? AND created_by = ? AND credit_id > ? ORDER BY credit_id LIMIT ?`,
          [merchantId, userId, after, PAGE],
        );
        return readGrantStates(manager, keys, timeZone, this.clock.now(merchantId));
      });
      isEnd = page.length < PAGE;
      after = page.at(-1)?.credit.id ?? after;
      if (page.length > 0) yield page;
    }
  }

  #void(page: readonly GrantState[], reason: string | null): Promise<GrantState[]> {
    return Promise.all(
      page.map(({ grant: { merchantId, creditId } }) => this.grants.void(merchantId, { creditId }, OPERATOR, reason)),
    );
  }

  /** The latest orders whose customer it changed. */
  async #correctedBy({ id, merchantId }: ApiUser, since: Date, take: number): Promise<object[]> {
    const rows = await this.unitOfWork.statement((manager) =>
      manager.query<{ external_id: Buffer; moved: string }[]>(CORRECTED, [merchantId, id, since, take]),
    );
    return rows.map(({ external_id, moved, ...row }) => {
      return { ...row, external_id: external_id.toString(), movedCents: exactCents(moved) };
    });
  }

  async #completedBy({ id: completedBy, merchantId }: ApiUser, since: Date, take: number) {
    return this.unitOfWork.snapshot(async (manager) => {
      const [sums] = await manager.query<{ count: string; earned: string }[]>(
        `SELECT COUNT(*) AS count, COALESCE(SUM(earned_cents), 0) AS earned FROM orders FORCE INDEX (ix_orders_completion)
          WHERE merchant_id = ? AND status IN (?) AND completed_at >= ? AND completed_by = ?`,
        [merchantId, COMPLETED_STATUSES, since, completedBy],
      );
      const latest = await manager.find(Order, {
        where: { merchantId, status: In(COMPLETED_STATUSES), completedAt: MoreThanOrEqual(since), completedBy },
        order: { completedAt: 'DESC', id: 'DESC' },
        take,
      });
      const completedOrders = latest.map(({ id, externalId, document, store, earnedCents, completedAt }) => {
        return { id, externalId, document, store, earnedCents, completedAt };
      });
      return { completedCount: Number(sums!.count), earnedCents: Number(sums!.earned), completedOrders };
    });
  }
}

const CORRECTED = `
  SELECT o.id, o.external_id, o.document, m.moved_cents AS moved, o.customer_change_reason AS reason, m.created_at AS changed_at
    FROM customer_changes m JOIN orders o ON o.id = m.order_id AND o.merchant_id = m.merchant_id
   WHERE m.merchant_id = ? AND m.created_by = ? AND m.created_at >= ? ORDER BY m.created_at DESC LIMIT ?`;

function grantRowOf({ grant, credit, remainingCents, heldCents }: GrantState): object {
  const { id, walletId, store, amountCents, createdAt } = credit;
  const { externalId, voidedCents } = grant;
  const amounts = { amountCents, remainingCents, heldCents, voidedCents: voidedCents ?? 0 };
  return { id, externalId, walletId, store, ...amounts, createdAt };
}
