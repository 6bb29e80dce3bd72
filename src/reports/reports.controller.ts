import { Get, Query } from '@nestjs/common';
import { ExpiringReportDto } from '../cashback/expiring.dto.js';
import { EXPIRING } from '../cashback/expiring.js';
import { Reads } from '../platform/database/reads.js';
import { Heavy } from '../platform/http/admission.js';
import { MerchantController, MerchantId, Requires } from '../platform/http/decorators.js';
import { Report } from '../platform/http/response.interceptor.js';
import { FREQUENT_CUSTOMERS, TOP_CUSTOMERS } from './customers.report.js';
import { GRANTS_BY_USER } from './grants.report.js';
import { LEDGER } from './ledger.report.js';
import { OUTSTANDING } from './outstanding.report.js';
import { SALES } from './sales.report.js';
import {
  ExpiringQueryDto,
  FrequentQueryDto,
  FrequentReportDto,
  GrantsReportDto,
  LedgerQueryDto,
  LedgerReportDto,
  OutstandingQueryDto,
  OutstandingReportDto,
  PeriodQueryDto,
  SalesQueryDto,
  SalesReportDto,
  TopQueryDto,
  TopReportDto,
} from './report.dto.js';

@MerchantController('reports', 'reports')
@Requires('reports')
@Heavy()
export class ReportsController {
  constructor(private readonly reads: Reads) {}

  /**
   * Report the ledger
   *
   * @remarks Returns what the customers owned at the beginning and the end of a period of at most 366 days, and why it
   * changed: `opening + earned + granted − redeemed + returned − taken_back − voided − debited − expired = closing`.
   */
  @Get('ledger')
  @Report('ledger', LedgerReportDto)
  reportLedger(@MerchantId() merchantId: string, @Query() query: LedgerQueryDto): Promise<LedgerReportDto> {
    return this.reads.read(merchantId, query, LEDGER);
  }

  /**
   * Report sales
   *
   * @remarks Returns what was sold and refunded in a period of at most 366 days, and its cashback. An order counts
   * when it was completed, a refund when it was made, and what was undone when it was undone.
   */
  @Get('sales')
  @Report('sales', SalesReportDto)
  reportSales(@MerchantId() merchantId: string, @Query() query: SalesQueryDto): Promise<SalesReportDto> {
    return this.reads.read(merchantId, query, SALES);
  }

  /**
   * Report what the merchant owes
   *
   * @remarks Returns the cashback that customers own, and their debts, now or at the end of a day.
   */
  @Get('outstanding')
  @Report('outstanding', OutstandingReportDto)
  reportOutstanding(
    @MerchantId() merchantId: string,
    @Query() query: OutstandingQueryDto,
  ): Promise<OutstandingReportDto> {
    return this.reads.read(merchantId, query, OUTSTANDING);
  }

  /**
   * Report what will expire
   *
   * @remarks Returns the cashback that expires in this month and the following ones if nobody spends it. A credit that
   * can be spent through November 30 expires at 00:00 on December 1, and counts there. What has expired and is still
   * held counts in the current month.
   */
  @Get('expiring')
  @Report('expiring', ExpiringReportDto)
  reportExpiring(@MerchantId() merchantId: string, @Query() query: ExpiringQueryDto): Promise<ExpiringReportDto> {
    return this.reads.read(merchantId, query, EXPIRING);
  }

  /**
   * Report customers with many orders in a day
   *
   * @remarks Returns the customers for whom many orders were completed on one day, and the users that completed them.
   * A cashier may use their own CPF for sales to others. The period has at most 31 days. A page has those that are read
   * in two seconds.
   */
  @Get('frequent')
  @Report('frequent', FrequentReportDto, 'too_many_orders')
  reportFrequent(@MerchantId() merchantId: string, @Query() query: FrequentQueryDto): Promise<FrequentReportDto> {
    return this.reads.read(merchantId, query, FREQUENT_CUSTOMERS);
  }

  /**
   * Report who granted cashback
   *
   * @remarks Returns what each user granted in a period of at most 366 days, by reason, the highest amount first, and
   * what was voided of the user's grants in this period.
   */
  @Get('grants')
  @Report('grants', GrantsReportDto)
  reportGrants(@MerchantId() merchantId: string, @Query() query: PeriodQueryDto): Promise<GrantsReportDto> {
    return this.reads.read(merchantId, query, GRANTS_BY_USER);
  }

  /**
   * Report the customers who bought most
   *
   * @remarks Returns the customers with the highest totals, less refunds, of orders that were completed in a period of
   * at most 31 days, highest first. These are at most 300,000 orders.
   */
  @Get('customers')
  @Report('customers', TopReportDto, 'too_many_orders')
  reportCustomers(@MerchantId() merchantId: string, @Query() query: TopQueryDto): Promise<TopReportDto> {
    return this.reads.read(merchantId, query, TOP_CUSTOMERS);
  }
}
