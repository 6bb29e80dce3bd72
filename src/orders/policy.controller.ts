import { Get } from '@nestjs/common';
import { MerchantController } from '../auth/merchant-controller.js';
import { MerchantId } from '../http/decorators.js';
import { ApiProblems } from '../openapi/decorators.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { PolicyDto } from './dto/policy.dto.js';
import { toPolicyDto } from './policy.mapper.js';

@MerchantController('policy', 'orders')
export class PolicyController {
  constructor(private readonly merchants: MerchantsService) {}

  /**
   * Read the cashback rules
   *
   * @remarks Returns the merchant's rules for new orders, at most a second old. An existing order keeps the rules that
   * it was quoted with.
   */
  @Get()
  @ApiProblems('missing_token', 'invalid_token')
  async getPolicy(@MerchantId() merchantId: string): Promise<PolicyDto> {
    return toPolicyDto(await this.merchants.policyOf(merchantId));
  }
}
