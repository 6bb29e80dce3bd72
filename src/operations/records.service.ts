import { Injectable } from '@nestjs/common';
import { In, MoreThanOrEqual } from 'typeorm';
import { LoginCounts } from '../auth/login-limit.js';
import { SessionsService } from '../auth/sessions.service.js';
import { Entry } from '../cashback/entry.entity.js';
import { GrantsService, type GrantState, readGrantStates } from '../cashback/grants.service.js';
import { toEntryDtos } from '../cashback/wallet.list.js';
import { toPolicyDto } from '../merchants/policy.dto.js';
import { COMPLETED_STATUSES } from '../orders/order-transitions.js';
import { Order } from '../orders/order.entity.js';
import { OrdersService } from '../orders/orders.service.js';
import { toRefundDto } from '../orders/refund.dto.js';
import { readVoidable } from '../orders/refund-voids.js';
import { Refund } from '../orders/refund.entity.js';
import { Reads } from '../platform/database/reads.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { present } from '../platform/http/present.js';
import { OPERATOR } from '../platform/values/caller.js';
import { beforeIdsOf } from '../platform/values/ids.js';
import { exactCents, formatMoney } from '../platform/values/money.js';

/** The number of grants that are read, or voided, at once. */
const PAGE = 100;

/** An API user, and from when on its work is asked for. */
interface WorkOf {
  merchantId: string;
  id: string;
  since: Date;
}

/**
 * Shows an order, or what a user with a stolen token, or a system with a mistake, did, and takes such a user's grants
 * back.
 */
@Injectable()
export class RecordsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly reads: Reads,
    private readonly orders: OrdersService,
    private readonly grants: GrantsService,
    private readonly sessions: SessionsService,
    private readonly counts: LoginCounts,
  ) {}

  /**
   * Returns an order as the API shows it, with the policy that it keeps, its latest refunds and its latest ledger
   * entries.
   *
   * @param take the maximum number of each.
   * @throws Problem not_found.
   */
  async order(merchantId: string, orderId: string, take: number): Promise<object> {
    const shown = await this.orders.get(merchantId, orderId);
    return this.reads.read(merchantId, {}, async (asked) => {
      const { manager } = asked;
      const where = { orderId, merchantId };
      const { policy } = await manager.findOneByOrFail(Order, { id: orderId, merchantId });
      const refunds = await manager.find(Refund, { where, order: { createdAt: 'DESC', id: 'DESC' }, take });
      const voidable = await readVoidable(asked, refunds);
      const entries = await manager.find(Entry, { where, order: { seq: 'DESC' }, take });
      return {
        ...shown,
        merchant_id: merchantId,
        policy: toPolicyDto(policy),
        refunds: refunds.map((refund) => toRefundDto(refund, shown.external_id, voidable.has(refund.id))),
        entries: await toEntryDtos(manager, merchantId, entries),
      };
    });
  }

  /** Returns the latest sessions of an API user, and the failed logins that count against it. */
  async loginsOf(userId: string): Promise<object> {
    const sessions = await this.sessions.latestOf(userId);
    const failures = await this.unitOfWork.statement((manager) => this.counts.failuresOf(manager, [userId]));
    return {
      failed_logins: failures.map(({ kind: limit, points, expire }) => {
        return { limit, failures: points, until: new Date(expire) };
      }),
      latest_sessions: sessions.map((one) => present(one, 'id', 'createdAt', 'expiresAt', 'revokedAt')),
    };
  }

  /**
   * Returns the grants that an API user made, and the orders that it completed or gave another customer, from an
   * instant on.
   *
   * @param take the maximum number of grants and of orders that are listed; the sums are of all.
   * @param voiding voids each grant, as {@link GrantsService.void} does; undefined only shows them.
   */
  async workOf(of: WorkOf, take: number, voiding?: { reason: string | null }): Promise<object> {
    // What is voided was perhaps voided before. What orders hold of the remaining amount stays.
    const sums = { grantedCents: 0, remainingCents: 0, heldCents: 0, voidedCents: 0 };
    const grants: object[] = [];
    let grantCount = 0;
    for await (const before of this.#grantsOf(of)) {
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
    return {
      ...{ since: of.since, grant_count: grantCount },
      ...present(sums, 'grantedCents', 'remainingCents', 'heldCents', 'voidedCents'),
      ...(await this.#completedBy(of, take)),
      grants,
      corrected_orders: await this.#correctedBy(of, take),
    };
  }

  /** The oldest first. Their IDs begin with the instant of their creation. */
  async *#grantsOf({ id: userId, merchantId, since }: WorkOf): AsyncGenerator<GrantState[]> {
    let [after, isEnd] = [beforeIdsOf(since), false];
    while (!isEnd) {
      const page = await this.reads.read(merchantId, after, async ({ manager, query, timeZone, now }) => {
        const keys = await manager.query<{ creditId: string; merchantId: string }[]>(
          `SELECT credit_id AS creditId, merchant_id AS merchantId
             FROM cashback_grants FORCE INDEX (ix_cashback_grants_user)
            WHERE merchant_id = ? AND created_by = ? AND credit_id > ? ORDER BY credit_id LIMIT ?`,
          [merchantId, userId, query, PAGE],
        );
        return readGrantStates(manager, keys, timeZone, now);
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
  async #correctedBy({ id, merchantId, since }: WorkOf, take: number): Promise<object[]> {
    const rows = await this.unitOfWork.statement((manager) =>
      manager.query<{ external_id: Buffer; moved: string }[]>(CORRECTED, [merchantId, id, since, take]),
    );
    return rows.map(({ external_id, moved, ...row }) => {
      return { ...row, external_id: external_id.toString(), moved: formatMoney(exactCents(moved)) };
    });
  }

  async #completedBy({ id: completedBy, merchantId, since }: WorkOf, take: number): Promise<object> {
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
      return {
        completed_count: Number(sums!.count),
        earned: formatMoney(exactCents(sums!.earned)),
        completed_orders: latest.map((order) =>
          present(order, 'id', 'externalId', 'document', 'store', 'earnedCents', 'completedAt'),
        ),
      };
    });
  }
}

const CORRECTED = `
  SELECT o.id, o.external_id, o.document, m.moved_cents AS moved, o.customer_change_reason AS reason, m.created_at AS changed_at
    FROM customer_changes m JOIN orders o ON o.id = m.order_id AND o.merchant_id = m.merchant_id
   WHERE m.merchant_id = ? AND m.created_by = ? AND m.created_at >= ? ORDER BY m.created_at DESC LIMIT ?`;

function grantRowOf({ grant, credit, remainingCents, heldCents }: GrantState): object {
  const amounts = { amountCents: credit.amountCents, remainingCents, heldCents, voidedCents: grant.voidedCents ?? 0 };
  const { id, walletId, store, createdAt } = credit;
  const row = { id, externalId: grant.externalId, walletId, store, ...amounts, createdAt };
  return present(row, ...(Object.keys(row) as (keyof typeof row)[]));
}
