import type { CreateSandboxMerchant, SandboxMerchant } from './generated/types.gen.js';
import { Http, type HttpOptions } from './http.js';
import { operation } from './operations.js';

export interface SandboxMerchantOptions extends HttpOptions, CreateSandboxMerchant {
  signal?: AbortSignal | undefined;
}

/**
 * Creates a merchant of a sandbox, for example one per run of your tests. It needs no login: the email and the password
 * for a `Cashback` are in the `user` of the result. If only a response was lost, the next try creates another merchant.
 */
export function createSandboxMerchant(options: SandboxMerchantOptions): Promise<SandboxMerchant> {
  const { name, policy, signal, ...http } = options;
  const create = operation('createSandboxMerchant', (call) => new Http(http).request(call));
  return create({ name, ...(policy && { policy }) }, { signal });
}
