import { Get, Query } from '@nestjs/common';
import { Requires } from '../auth/caller.guard.js';
import { MerchantController } from '../auth/merchant-controller.js';
import { Heavy } from '../http/admission.js';
import { MerchantId } from '../http/decorators.js';
import { ApiProblems } from '../openapi/decorators.js';
import { CustomersService } from './customers.service.js';
import { CustomerPageDto, ListCustomersDto } from './dto/customer.dto.js';

@MerchantController('customers', 'wallets')
export class CustomersController {
  constructor(private readonly customers: CustomersService) {}

  /**
   * List customers
   *
   * @remarks Returns the customers who have a balance or a debt, by the ID of their wallet, one page at a time. A page
   * looks at no more than 1,000 wallets, so it can be empty although more follow. Continue with `next_cursor` until it
   * is null.
   */
  @Get()
  @Requires('reports')
  @Heavy()
  @ApiProblems.query()
  listCustomers(@MerchantId() merchantId: string, @Query() query: ListCustomersDto): Promise<CustomerPageDto> {
    return this.customers.list(merchantId, query);
  }
}
