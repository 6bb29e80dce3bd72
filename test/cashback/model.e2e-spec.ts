import { testModel } from '../support/model/property.js';

testModel({ sequences: 60, isWhole: false });
