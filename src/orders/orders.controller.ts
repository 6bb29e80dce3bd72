import { Body, Controller, Get, HttpCode, Post, Put, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiBearerAuth, ApiBody, ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import type { Caller } from '../common/caller.js';
import { CurrentCaller } from '../http/caller.js';
import { ApiProblems } from '../http/api-problems.js';
import { FairList } from '../http/fair-list.interceptor.js';
import { ApiIdParam, IdParam } from '../http/id-param.js';
import { markReplay, REPLAY_HEADER } from '../http/idempotency-replayed.js';
import { REQUESTS } from '../rate-limits/policies.js';
import { RateLimit } from '../rate-limits/rate-limit.guard.js';
import { CreateOrderDto } from './dto/create-order.dto.js';
import { CompleteOrderDto, CreateRefundDto, SetRedemptionDto } from './dto/finish-order.dto.js';
import { ListOrdersDto, OrderPageDto } from './dto/list-orders.dto.js';
import { OrderDto } from './dto/order.dto.js';
import { RefundDto } from './dto/refund.dto.js';
import { OrderLifecycleService } from './order-lifecycle.service.js';
import { OrderListingService } from './order-listing.service.js';
import { OrdersService } from './orders.service.js';
import { RefundsService } from './refunds.service.js';

@ApiTags('orders')
@ApiBearerAuth()
@Controller('orders')
@RateLimit(REQUESTS)
@ApiProblems('missing_token', 'invalid_token')
export class OrdersController {
  constructor(
    private readonly orders: OrdersService,
    private readonly listing: OrderListingService,
    private readonly lifecycle: OrderLifecycleService,
    private readonly refunds: RefundsService,
  ) {}

  /**
   * Create an order
   *
   * @remarks Creates the order as `pending` and says at once what cashback the customer can redeem on it and will
   * receive for it. `external_id` is the idempotency key: the same body again answers 201 with the order as it now
   * stands and `Idempotency-Replayed: true`, other content 409.
   */
  @Post()
  @ApiCreatedResponse({ type: OrderDto, description: 'The order, as it now stands', headers: REPLAY_HEADER })
  @ApiProblems(
    'malformed_json',
    'validation_failed',
    'external_id_conflict',
    'payload_too_large',
    'unsupported_media_type',
    'payments_exceed_total',
  )
  async create(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateOrderDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OrderDto> {
    const { order, replayed } = await this.orders.create(caller.merchantId, body);
    markReplay(response, replayed);
    return order;
  }

  /**
   * List orders
   *
   * @remarks The merchant's orders, newest first, one page at a time. A page holds at most `limit` orders and 1 MiB,
   * but always at least one order if any is left: continue with `next_cursor` until it is null.
   */
  @Get()
  @UseInterceptors(FairList)
  @ApiProblems('validation_failed')
  list(@CurrentCaller() caller: Caller, @Query() query: ListOrdersDto): Promise<OrderPageDto> {
    return this.listing.list(caller.merchantId, query);
  }

  /**
   * Read an order
   *
   * @remarks The order as it now stands. An order of another merchant is 404, as if it were not there.
   */
  @Get(':id')
  @ApiIdParam('The order')
  @ApiProblems('not_found')
  get(@CurrentCaller() caller: Caller, @IdParam() id: string): Promise<OrderDto> {
    return this.orders.get(caller.merchantId, id);
  }

  /**
   * Hold cashback for an order
   *
   * @remarks Holds that much of the customer's cashback until the order expires, in place of an earlier hold.
   */
  @Put(':id/redemption')
  @ApiIdParam('The order')
  @ApiProblems(
    'malformed_json',
    'validation_failed',
    'not_found',
    'invalid_transition',
    'payload_too_large',
    'unsupported_media_type',
    'redemption_exceeds_maximum',
  )
  setRedemption(
    @CurrentCaller() caller: Caller,
    @IdParam() id: string,
    @Body() body: SetRedemptionDto,
  ): Promise<OrderDto> {
    return this.lifecycle.setRedemption(caller.merchantId, id, body);
  }

  /**
   * Complete an order
   *
   * @remarks The sale is done: what is held (or `redeem`) is redeemed, and the cashback is granted. It works after
   * `expires_at` too, if the balance still allows it. Completing again answers the same.
   */
  @Post(':id/complete')
  @HttpCode(200)
  @ApiBody({ type: CompleteOrderDto, required: false })
  @ApiIdParam('The order')
  @ApiProblems(
    'malformed_json',
    'validation_failed',
    'not_found',
    'invalid_transition',
    'redemption_no_longer_available',
    'payload_too_large',
    'unsupported_media_type',
    'payments_exceed_total',
    'redemption_exceeds_maximum',
  )
  complete(@CurrentCaller() caller: Caller, @IdParam() id: string, @Body() body: CompleteOrderDto): Promise<OrderDto> {
    return this.lifecycle.complete(caller.merchantId, id, body);
  }

  /**
   * Cancel an order
   *
   * @remarks Lets the hold go; only from `pending` or `expired`. Cancelling again answers the same.
   */
  @Post(':id/cancel')
  @HttpCode(200)
  @ApiIdParam('The order')
  @ApiProblems('not_found', 'invalid_transition')
  cancel(@CurrentCaller() caller: Caller, @IdParam() id: string): Promise<OrderDto> {
    return this.lifecycle.cancel(caller.merchantId, id);
  }

  /**
   * Refund an order
   *
   * @remarks A return, whole or in part, of a completed order; idempotent by its `external_id`, as orders are.
   */
  @Post(':id/refunds')
  @ApiIdParam('The order')
  @ApiCreatedResponse({ type: RefundDto, description: 'The refund', headers: REPLAY_HEADER })
  @ApiProblems(
    'malformed_json',
    'validation_failed',
    'not_found',
    'external_id_conflict',
    'invalid_transition',
    'payload_too_large',
    'unsupported_media_type',
    'refund_exceeds_total',
  )
  async refund(
    @CurrentCaller() caller: Caller,
    @IdParam() id: string,
    @Body() body: CreateRefundDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RefundDto> {
    const { refund, replayed } = await this.refunds.create(caller.merchantId, id, body);
    markReplay(response, replayed);
    return refund;
  }
}
