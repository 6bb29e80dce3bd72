import type { Policy } from '../../src/merchants/policy.js';
import { type Answer, Client, type RequestOptions } from './client.js';
import { aMerchant, logIn, type TestMerchant } from './factories.js';
import type { Service } from './service.js';

/** Logs in again when its token has expired, like a real merchant system. */
class LongLivedClient extends Client {
  #current: Client;

  constructor(
    service: Service,
    private readonly merchant: TestMerchant,
  ) {
    super(service);
    this.#current = merchant.client;
  }

  override get once(): Client {
    return this.#current.once;
  }

  override async send<T>(method: string, path: string, options?: RequestOptions): Promise<Answer<T>> {
    const answer = await this.#current.send<T>(method, path, options);
    if (answer.status !== 401) return answer;
    const { email, password } = this.merchant;
    this.#current = new Client(this.service, (await logIn(this.service, email, password)).access_token);
    return this.#current.send(method, path, options);
  }
}

/** A merchant for tests that move the clock forward by days. */
export async function aLongLivedMerchant(service: Service, policy: Partial<Policy> = {}): Promise<TestMerchant> {
  const merchant = await aMerchant(service, policy);
  return merchant.with(new LongLivedClient(service, merchant));
}
