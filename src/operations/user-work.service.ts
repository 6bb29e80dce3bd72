import { Injectable } from '@nestjs/common';
import { In, MoreThanOrEqual } from 'typeorm';
import { ApiUser } from '../auth/api-user.entity.js';
import { ApiUsersService } from '../auth/api-users.service.js';
import { type GrantState, GrantsService, readGrantStates } from '../cashback/grants.service.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { COMPLETED_STATUSES } from '../orders/order-transitions.js';
import { Order } from '../orders/order.entity.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OPERATOR } from '../platform/values/caller.js';
import { beforeIdsOf, readId } from '../platform/values/ids.js';
import { exactCents, formatMoney } from '../platform/values/money.js';
import { notFound } from '../platform/values/problem.js';
import { Clock } from '../platform/values/time.js';

/** The number of grants that are read, or voided, at once. */
const PAGE = 100;

const NO_USER = 'no user has this ID';

/** What an API user did from an instant on. */
export interface UserWork {
  user_id: string;
  user_name: string;
  merchant_id: string;
  time_zone: string;
  since: Date;
  grant_count: number;
  granted: string;
  /** What is left of the grants, and the part of it that orders hold, which stays. */
  remaining: string;
  held: string;
  /** What was voided of the grants, also before. */
  voided: string;
  completed_count: number;
  earned: string;
  grants: object[];
  completed_orders: object[];
  /** The latest orders whose customer it changed. */
  corrected_orders: object[];
}

interface CompletedOrders {
  count: number;
  earnedCents: number;
  latest: object[];
}

/** Shows what a user with a stolen token, or a system with a mistake, did, and takes its grants back. */
@Injectable()
export class UserWorkService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly users: ApiUsersService,
    private readonly merchants: MerchantsService,
    private readonly grants: GrantsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the grants that an API user made, and the orders that it completed or gave another customer, from an
   * instant on.
   *
   * @param idOrEmail of the user. Only an email has an `@`.
   * @param voiding voids each grant, as {@link GrantsService.void} does; undefined only shows them.
   * @param take the maximum number of grants and of orders that are listed; the sums are of all.
   * @throws Problem not_found.
   */
  async since(
    idOrEmail: string,
    since: Date,
    voiding: { reason: string | null } | undefined,
    take: number,
  ): Promise<UserWork> {
    const user = await this.#user(idOrEmail);
    const { merchantId } = user;
    const { timeZone } = await this.merchants.policyOf(merchantId);
    const sums = { granted: 0, remaining: 0, held: 0, voided: 0 };
    const listed: object[] = [];
    let count = 0;
    for await (const before of this.#grantsOf(user, since, timeZone)) {
      const page = voiding === undefined ? before : await this.#void(before, voiding.reason);
      count += page.length;
      for (const { grant, credit, remainingCents, heldCents } of page) {
        sums.granted += credit.amountCents;
        sums.remaining += remainingCents;
        sums.held += heldCents;
        sums.voided += grant.voidedCents ?? 0;
      }
      if (listed.length < take) listed.push(...page.slice(0, take - listed.length).map(grantRowOf));
    }
    const orders = await this.#completedBy(user, since, take);
    const corrected_orders = await this.#correctedBy(user, since, take);
    return {
      ...{ user_id: user.id, user_name: user.name, merchant_id: merchantId, time_zone: timeZone, since },
      ...{ grant_count: count, granted: formatMoney(sums.granted), remaining: formatMoney(sums.remaining) },
      ...{ held: formatMoney(sums.held), voided: formatMoney(sums.voided) },
      ...{ completed_count: orders.count, earned: formatMoney(orders.earnedCents) },
      ...{ grants: listed, completed_orders: orders.latest, corrected_orders },
    };
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

  async #correctedBy({ id, merchantId }: ApiUser, since: Date, take: number): Promise<object[]> {
    const rows = await this.unitOfWork.statement((manager) =>
      manager.query<CorrectedRow[]>(CORRECTED, [merchantId, id, since, take]),
    );
    return rows.map(({ external_id, moved, ...row }) => ({
      ...row,
      external_id: external_id.toString(),
      moved: formatMoney(exactCents(moved)),
    }));
  }

  async #completedBy({ id: completedBy, merchantId }: ApiUser, since: Date, take: number): Promise<CompletedOrders> {
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
      return { count: Number(sums!.count), earnedCents: Number(sums!.earned), latest: latest.map(orderRowOf) };
    });
  }
}

interface CorrectedRow {
  id: string;
  external_id: Buffer;
  document: string;
  moved: string;
  reason: string | null;
  changed_at: Date;
}

const CORRECTED = `
  SELECT o.id, o.external_id, o.document, m.moved_cents AS moved, o.customer_change_reason AS reason, m.created_at AS changed_at
    FROM customer_changes m JOIN orders o ON o.id = m.order_id AND o.merchant_id = m.merchant_id
   WHERE m.merchant_id = ? AND m.created_by = ? AND m.created_at >= ? ORDER BY m.created_at DESC LIMIT ?`;

function orderRowOf({ id, externalId, document, store, earnedCents, completedAt }: Order): object {
  const earned = formatMoney(earnedCents);
  return { id, external_id: externalId, document, store, earned, completed_at: completedAt };
}

function grantRowOf({ grant, credit, remainingCents, heldCents }: GrantState): object {
  return {
    id: credit.id,
    external_id: grant.externalId,
    wallet_id: credit.walletId,
    store: credit.store,
    amount: formatMoney(credit.amountCents),
    remaining: formatMoney(remainingCents),
    held: formatMoney(heldCents),
    voided: formatMoney(grant.voidedCents ?? 0),
    created_at: credit.createdAt,
  };
}
