import { Injectable } from '@nestjs/common';
import { type ApiUser } from '../auth/api-user.entity.js';
import { ApiUsersService } from '../auth/api-users.service.js';
import { Passwords } from '../auth/passwords.js';
import { type Merchant } from '../merchants/merchant.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { type Policy } from '../merchants/policy.js';
import { PERMISSIONS } from '../platform/values/caller.js';
import { Problem, validationFailed } from '../platform/values/problem.js';

@Injectable()
export class SandboxMerchants {
  constructor(
    private readonly merchants: MerchantsService,
    private readonly users: ApiUsersService,
  ) {}

  /**
   * Creates a merchant with an API user that has all permissions.
   *
   * @throws Problem validation_failed if two rules contradict each other.
   */
  async create(
    name: string,
    policy: Partial<Policy>,
  ): Promise<{ merchant: Merchant; user: ApiUser; password: string }> {
    const merchant = await this.merchants.create(name, policy).catch(ofPolicy);
    const password = Passwords.generate();
    const email = `api@${merchant.id}.example`;
    const user = { merchantId: merchant.id, name: 'API', email, permissions: [...PERMISSIONS] };
    // All networks share a turn, so that no login waits for more than one of these.
    return { merchant, user: await this.users.create(user, password, undefined, 'sandbox merchants'), password };
  }
}

/** The members of the policy are in a member of the request. */
function ofPolicy(error: unknown): never {
  if (!(error instanceof Problem) || error.errors === undefined) throw error;
  throw validationFailed(error.errors.map((fault) => ({ ...fault, pointer: `/policy${fault.pointer}` })));
}
