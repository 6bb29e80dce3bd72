import { Body, Controller, Get, Post, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import type { Caller } from '../common/caller.js';
import { CurrentCaller } from '../http/caller.js';
import { ApiProblems } from '../http/api-problems.js';
import { ApiCreated, markCreated } from '../http/created.js';
import { FairList } from '../http/fair-list.interceptor.js';
import { ApiIdParam, IdParam } from '../http/id-param.js';
import { PageQueryDto } from '../http/page-query.dto.js';
import { REQUESTS } from '../rate-limits/policies.js';
import { RateLimit } from '../rate-limits/rate-limit.guard.js';
import { CreateRefundDto } from './dto/finish-order.dto.js';
import { RefundDto, RefundPageDto } from './dto/refund.dto.js';
import { RefundsService } from './refunds.service.js';

@ApiTags('orders')
@ApiBearerAuth()
@Controller('orders/:id/refunds')
@RateLimit(REQUESTS)
export class RefundsController {
  constructor(private readonly refunds: RefundsService) {}

  /**
   * Refund an order
   *
   * @remarks Refunds a completed order, fully or partially. `external_id` is the idempotency key.
   */
  @Post()
  @ApiIdParam('The order')
  @ApiCreated(RefundDto, 'The refund')
  @ApiProblems.write('external_id_conflict', 'refund_exceeds_total')
  async createRefund(
    @CurrentCaller() caller: Caller,
    @IdParam() id: string,
    @Body() body: CreateRefundDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RefundDto> {
    const { refund, replayed } = await this.refunds.create(caller.merchantId, id, body);
    markCreated(response, `/orders/${id}/refunds/${refund.id}`, replayed);
    return refund;
  }

  /**
   * List the refunds of an order
   *
   * @remarks The refunds of the order, newest first, one page at a time. Continue with `next_cursor` until it is null.
   */
  @Get()
  @UseInterceptors(FairList)
  @ApiIdParam('The order')
  @ApiProblems.query('not_found')
  listRefunds(
    @CurrentCaller() caller: Caller,
    @IdParam() id: string,
    @Query() query: PageQueryDto,
  ): Promise<RefundPageDto> {
    return this.refunds.list(caller.merchantId, id, query);
  }

  /**
   * Read a refund
   *
   * @remarks Returns what the refund did. A refund never changes.
   */
  @Get(':refund_id')
  @ApiIdParam('The order')
  @ApiIdParam('The refund', 'refund_id')
  @ApiProblems.read()
  getRefund(
    @CurrentCaller() caller: Caller,
    @IdParam() id: string,
    @IdParam('refund_id') refundId: string,
  ): Promise<RefundDto> {
    return this.refunds.get(caller.merchantId, id, refundId);
  }
}
