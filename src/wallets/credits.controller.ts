import { Get, Query } from '@nestjs/common';
import { Requires } from '../auth/caller.guard.js';
import { MerchantController } from '../auth/merchant-controller.js';
import { Heavy } from '../http/admission.js';
import { MerchantId } from '../http/decorators.js';
import { ApiProblems } from '../openapi/decorators.js';
import { CreditListingService } from './credit-listing.service.js';
import { CustomerCreditPageDto, ListCreditsDto } from './dto/credit.dto.js';

@MerchantController('credits', 'wallets')
export class CreditsController {
  constructor(private readonly listing: CreditListingService) {}

  /**
   * List the open credits of all customers
   *
   * @remarks Returns the credits of which something remains that is not held, earliest expiry first, pending ones
   * included, one page at a time. With `store`, a page looks at no more than 1,000 credits, so it can be empty although
   * more follow. Continue with `next_cursor` until it is null.
   */
  @Get()
  @Requires('reports')
  @Heavy()
  @ApiProblems.query()
  listCredits(@MerchantId() merchantId: string, @Query() query: ListCreditsDto): Promise<CustomerCreditPageDto> {
    return this.listing.list(merchantId, query);
  }
}
