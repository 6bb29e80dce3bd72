import { MerchantsService } from '../../../src/merchants/merchants.service.js';
import { type Answer, Client } from '../client.js';
import { aMerchant, type TestMerchant } from '../factories.js';
import type { Service } from '../service.js';
import type { FrozenClock } from '../clock.js';
import type { Rules } from './rules.js';

/** The lifetime of access tokens. The clock of the model sometimes moves past it. */
export const TOKEN_SECONDS = 86_400;
const RENEW_AFTER_MS = (TOKEN_SECONDS - 600) * 1000;

/** A merchant that logs in again when its token is about to expire. */
export class Shop {
  #client: Client;
  #since: number;

  private constructor(
    readonly service: Service,
    readonly clock: FrozenClock,
    readonly merchant: TestMerchant,
  ) {
    this.#client = merchant.client;
    this.#since = clock.ms;
  }

  static async open(service: Service, clock: FrozenClock, rules: Rules): Promise<Shop> {
    const shop = new Shop(service, clock, await aMerchant(service));
    await shop.setRules(rules);
    return shop;
  }

  async send(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    if (this.clock.ms - this.#since > RENEW_AFTER_MS) {
      const { email, password } = this.merchant;
      const { body: tokens } = await new Client(this.service).post('/auth/login', { email, password });
      this.#client = new Client(this.service, tokens.access_token);
      this.#since = this.clock.ms;
    }
    return this.#client.send(method, path, { body, headers });
  }

  /** Sets the policy of the merchant. Existing orders keep theirs. */
  async setRules(rules: Rules): Promise<void> {
    await this.service.app.get(MerchantsService).set(this.merchant.id, {
      policy: {
        earnRateBps: Number(rules.earnBps),
        earnRatesByPaymentMethod: Object.fromEntries(
          Object.entries(rules.earnBpsByMethod).map(([id, bps]) => [id, Number(bps)]),
        ),
        redeemShareBps: Number(rules.shareBps),
        redeemMinimumTotalCents: Number(rules.minimumTotal),
        releaseDays: rules.releaseDays,
        validityDays: rules.validityDays,
        orderTtlMinutes: rules.ttlMinutes,
        timeZone: rules.zone,
      },
    });
  }
}

/** Two very different policies: a usual one, and one where credits expire while they are held. */
export function twoPolicies(): Rules[] {
  return [
    {
      earnBps: 500n,
      earnBpsByMethod: { pix: 700n, boleto: 0n },
      shareBps: 5_000n,
      minimumTotal: 0n,
      releaseDays: 8,
      validityDays: 180,
      ttlMinutes: 30,
      zone: 'America/Sao_Paulo',
    },
    {
      earnBps: 1_000n,
      earnBpsByMethod: { pix: 10_000n },
      shareBps: 10_000n,
      minimumTotal: 500n,
      releaseDays: 0,
      validityDays: 2,
      ttlMinutes: 5 * 24 * 60,
      // Daylight saving time begins and ends at midnight.
      zone: 'America/Santiago',
    },
  ];
}
