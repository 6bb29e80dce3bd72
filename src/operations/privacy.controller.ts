import { Body, HttpCode, Post } from '@nestjs/common';
import { Heavy } from '../platform/http/admission.js';
import { MerchantController, MerchantId, Requires } from '../platform/http/decorators.js';
import { ApiProblems } from '../platform/openapi/decorators.js';
import { CustomerExportDto, EraseCustomerDto, ErasureDto, ExportCustomerDto } from './privacy.dto.js';
import { PrivacyService } from './privacy.service.js';

@MerchantController('customers', 'customers')
@Requires('privacy')
@Heavy()
export class PrivacyController {
  constructor(private readonly privacy: PrivacyService) {}

  /**
   * Export a customer's data
   *
   * @remarks Returns all that is stored about the customer (LGPD, article 18): orders, refunds, cashback, statement and
   * the events that are still kept, each in the order of time.
   */
  @Post('export')
  @HttpCode(200)
  @ApiProblems('validation_failed', 'not_found')
  exportCustomer(
    @MerchantId() merchantId: string,
    @Body() { document }: ExportCustomerDto,
  ): Promise<CustomerExportDto> {
    return this.privacy.export(merchantId, document);
  }

  /**
   * Erase a customer's data
   *
   * @remarks Replaces the document with a random pseudonym, also in old events, and removes metadata, reasons and
   * notes. The amounts stay, so reports and refunds stay right. It cannot be undone. An unknown customer changes
   * nothing.
   */
  @Post('erase')
  @HttpCode(200)
  @ApiProblems('validation_failed')
  async eraseCustomer(@MerchantId() merchantId: string, @Body() { document }: EraseCustomerDto): Promise<ErasureDto> {
    const { pseudonym, wallet_id, orders } = await this.privacy.erase(merchantId, document);
    return { pseudonym: wallet_id === null ? null : pseudonym, wallet_id, orders };
  }
}
