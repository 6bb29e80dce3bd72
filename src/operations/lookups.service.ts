import { Injectable } from '@nestjs/common';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { UUID } from '../platform/values/ids.js';
import { notFound } from '../platform/values/problem.js';
import { argumentsOf, NAMES_OF } from './commands.js';

/** Where something with an ID is stored. */
interface Place {
  table: string;
  /** The column of its ID. */
  id?: string;
  /** The column of the ID before it in the path. */
  within?: string;
}

/** By the part of the path before the ID. */
const PLACES: Record<string, Place> = {
  orders: { table: 'orders' },
  refunds: { table: 'refunds', within: 'order_id' },
  grants: { table: 'cashback_grants', id: 'credit_id' },
  debits: { table: 'debits' },
  users: { table: 'api_users' },
  wallets: { table: 'wallets' },
  campaigns: { table: 'policy_versions' },
  'webhook-endpoints': { table: 'webhook_endpoints' },
};

/** What the arguments of a command name. */
interface Found {
  merchantId: string | undefined;
  params: Record<string, string>;
}

/** What is found. */
interface Row {
  id: string;
  merchantId: string;
}

/** An argument, the part of the path before it, and the ID before that. */
interface Named {
  segment: string;
  text: string;
  before: string;
  merchantId: string | undefined;
}

/** Finds what an operator names by an ID or by its own name, and the merchant that it belongs to. */
@Injectable()
export class Lookups {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  /**
   * @param path of the operation, such as `/orders/{id}/refunds/{refund_id}`.
   * @param merchantId the merchant that was given; by default the one that has what is named, or the only one.
   * @throws Problem not_found; Error if several merchants have it.
   */
  async find(path: string, params: Record<string, string>, merchantId: string | undefined): Promise<Found> {
    const found: Found = { merchantId, params: {} };
    let before = '';
    for (const { segment, parameter } of argumentsOf(path)) {
      const [place, text] = [PLACES[segment], params[parameter]!];
      const row = place === undefined ? { id: text } : await this.#row(place, { segment, text, before, ...found });
      before = found.params[parameter] = row.id;
      if ('merchantId' in row) found.merchantId ??= row.merchantId;
    }
    return found;
  }

  async #row({ table, id = 'id', within }: Place, { segment, text, before, merchantId }: Named): Promise<Row> {
    const name = NAMES_OF[segment];
    const find = (column: string, value: unknown): Promise<Row[]> => {
      const conditions: [sql: string, value: unknown][] = [
        [`${column} = ?`, value],
        ...(merchantId === undefined ? [] : [['merchant_id = ?', merchantId] as [string, unknown]]),
        ...(within === undefined ? [] : [[`${within} = ?`, before] as [string, unknown]]),
      ];
      return this.unitOfWork.statement((manager) =>
        manager.query<Row[]>(
          `/* ${ALL_MERCHANTS} */ SELECT DISTINCT ${id} AS id, merchant_id AS merchantId FROM ${table}
            WHERE merchant_id IN (SELECT id FROM merchants) AND ${conditions.map(([sql]) => sql).join(' AND ')} LIMIT 2`,
          conditions.map(([, given]) => given),
        ),
      );
    };
    const isId = UUID.test(text.toLowerCase());
    const byId = isId ? await find(id, text.toLowerCase()) : [];
    const named = name === 'email' ? text.toLowerCase() : Buffer.from(text);
    const rows = byId.length > 0 || name === undefined ? byId : await find(name, named);
    const [row] = rows;
    if (row === undefined) throw notFound(`none of the ${segment} has the ID${name ? ` or the ${name}` : ''} ${text}`);
    if (rows.length > 1) throw new Error(`several ${segment} have the ${name} ${text}: use the ID, or --merchant`);
    return row;
  }
}
