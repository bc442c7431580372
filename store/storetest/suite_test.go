package storetest

import (
	"strings"
	"testing"

	"github.com/tidegate/tidegate/core"
)

// faulty is every store that is wrong on purpose, and the case that exists to
// catch it.
var faulty = []struct {
	name string
	make func() core.Store
	by   string
}{
	{"deniesWithError", deniesWithError, "DenialIsNotAnError"},
	{"chargesForNothing", chargesForNothing, "CostZeroIsFree"},
	{"tellsRemainingBefore", tellsRemainingBefore, "CountsDown/token-bucket"},
	{"countsCallsNotUnits", countsCallsNotUnits, "MixedCosts/fixed-window"},
	{"chargesOnDenial", chargesOnDenial, "DenialSpendsNothing/fixed-window"},
	{"chargesOnDenial", chargesOnDenial, "DenialSpendsNothing/sliding-log"},
	{"saysNeverIsAWait", saysNeverIsAWait, "NeverFits/token-bucket"},
	{"overflows", overflows, "NeverFits/sliding-window"},
	{"zeroIsUnlimited", zeroIsUnlimited, "LimitZero/token-bucket"},
	{"zeroIsUnlimited", zeroIsUnlimited, "LimitZero/sliding-log"},

	{"ignoresHi", ignoresHi, "KeysAreIndependent"},
	{"ignoresLo", ignoresLo, "KeysAreIndependent"},
	{"foldsKey", foldsKey, "KeysAreIndependent"},
	{"countsByCaller", countsByCaller, "LimitsOfOneCaller"},
	{"hashesBriefly", hashesBriefly, "ManyKeys"},
	{"evictsAnyone", evictsAnyone, "ManyKeys"},
	{"sweepsEverything", sweepsEverything, "RatesSideBySide"},
	{"expiresEarly", expiresEarly, "IdleKeysComeBack/sliding-window"},
	{"neverForgets", neverForgets, "IdleKeysComeBack/token-bucket"},

	{"spendsOneByOne", spendsOneByOne, "AllOrNothing"},
	{"splitsByCaller", splitsByCaller, "AllOrNothingOfManyCallers"},
	{"tellsAsIfSpent", func() core.Store { return tellsAsIfSpent{newReference()} }, "DenialTellsOfEachCharge"},
	{"stopsAtTheFirstDenial", stopsAtTheFirstDenial, "DenialTellsOfEachCharge"},
	{"duplicateKeySeesOldState", func() core.Store { return duplicateKeySeesOldState{newReference()} }, "SameKeyTwice"},
	{"locksInOrder", func() core.Store { return locksInOrder{newReference(), map[core.Key]chan struct{}{}} }, "AnyOrder"},
	{"emptyCallFails", emptyCallFails, "EmptyCall"},

	{"readsThenWrites", func() core.Store { return readsThenWrites{newReference()} }, "Storm/token-bucket"},
	{"readsThenWrites", func() core.Store { return readsThenWrites{newReference()} }, "Storm/sliding-log"},
	{"readsThenWrites", func() core.Store { return readsThenWrites{newReference()} }, "StormOfCalls"},
	{"readsThenWrites", func() core.Store { return readsThenWrites{newReference()} }, "StormNeverAbove"},
	{"readsThenWrites", func() core.Store { return readsThenWrites{newReference()} }, "StormOfExtras"},
	{"readsThenWrites", func() core.Store { return readsThenWrites{newReference()} }, "Rollout/token-bucket"},
	{"readsThenWrites", func() core.Store { return readsThenWrites{newReference()} }, "CanceledStorm"},

	{"roundsRetryDown", roundsRetryDown, "RetryAfter/token-bucket"},
	{"roundsRetryUp", roundsRetryUp, "RetryAfter/sliding-log"},
	{"retryIsTheWindow", retryIsTheWindow, "RetryAfter/fixed-window"},
	{"retryIgnoresCost", retryIgnoresCost, "RetryAfter/leaky-bucket"},
	{"nextIsTheReset", nextIsTheReset, "NextAfter/token-bucket"},
	{"resetIsTheWindow", resetIsTheWindow, "ResetAfter/sliding-window"},
	{"deniedTriesExtend", deniedTriesExtend, "RetriesChangeNothing/sliding-log"},
	{"roundsInterval", roundsInterval, "NoDrift/token-bucket"},
	{"slidesByWholeWindows", slidesByWholeWindows, "EdgeBurst/sliding-window"},
	{"losesFractions", losesFractions, "FractionsAreKept"},
	{"refillsEachPeriod", refillsEachPeriod, "BurstThenPace"},

	{"forgetsExtra", forgetsExtra, "Extra/token-bucket"},
	{"grantsAllExtra", grantsAllExtra, "Extra/sliding-window-cells"},
	{"takesExtraOfADenial", takesExtraOfADenial, "ExtraOfADenial"},

	{"neverQueues", neverQueues, "QueueInOrder"},
	{"hidesDelay", hidesDelay, "QueueInOrder"},
	{"queuesWithoutBound", queuesWithoutBound, "QueueIsBounded"},
	{"queuesForAsLongAsItTakes", queuesForAsLongAsItTakes, "QueueIsPatient"},
	{"tellsWaitForTheTurn", tellsWaitForTheTurn, "QueueRetryAfter"},
	{"takesTurnsOfDenials", takesTurnsOfDenials, "QueueAllOrNothing"},
	{"readsThenWrites", func() core.Store { return readsThenWrites{newReference()} }, "QueueStorm"},
	{"queuesEverywhere", queuesEverywhere, "OnlyBucketsQueue"},

	{"shadowVetoes", shadowVetoes, "ShadowNeverVetoes"},
	{"shadowNeverCharged", shadowNeverCharged, "ShadowIsCharged"},
	{"shadowChargedOnDenial", shadowChargedOnDenial, "ShadowOfADenial"},
	{"shadowAlwaysFits", shadowAlwaysFits, "ShadowAlone"},
	{"shadowGoesFirst", func() core.Store { return shadowGoesFirst{newReference()} }, "ShadowBeforeItsKey"},

	{"peekSpends", func() core.Store { return peekSpends{newReference()} }, "PeekSpendsNothing/token-bucket"},
	{"peekAlwaysGrants", func() core.Store { return peekAlwaysGrants{newReference()} }, "PeekAgrees/token-bucket"},
	{"peekSeesItsOwn", func() core.Store { return peekSeesItsOwn{newReference()} }, "PeekAgrees/sliding-log"},
	{"peekLetsShadowsVeto", func() core.Store { return peekLetsShadowsVeto{newReference()} }, "PeekOfSeveral"},
	{"duplicateKeySeesOldState", func() core.Store { return duplicateKeySeesOldState{newReference()} }, "PeekOfSeveral"},
	{"peekTakesTurns", func() core.Store { return peekTakesTurns{newReference()} }, "PeekOfAQueue"},

	{"countsNoHolders", countsNoHolders, "SlotsAtOnce"},
	{"givesAnybodysSlot", func() core.Store { return givesAnybodysSlot{newReference()} }, "SlotGivenTwice"},
	{"spendsOneByOne", spendsOneByOne, "SlotOfADeniedCall"},
	{"saysNeverIsAWait", saysNeverIsAWait, "SlotNeverFits"},
	{"forgetsHoldersOfAnotherNumber", forgetsHoldersOfAnotherNumber, "SlotsLowered"},
	{"readsThenWrites", func() core.Store { return readsThenWrites{newReference()} }, "SlotsInAStorm"},
	{"keepsSlots", func() core.Store { return keepsSlots{newReference()} }, "SlotsAreReset"},
	{"endsSlotsByHold", endsSlotsByHold, "SlotIsRenewed"},

	{"neverGives", neverGives, "GiveReturns/fixed-window"},
	{"givesCredit", func() core.Store { return givesCredit{newReference(), map[core.Key]int64{}} }, "GiveNeverAboveQuota/token-bucket"},
	{"givesOnlyTheSameQuota", givesOnlyTheSameQuota, "GiveUnderANewQuota/token-bucket"},
	{"givesWithoutReceipt", givesWithoutReceipt, "GiveWithoutAReceipt"},
	{"givesCredit", func() core.Store { return givesCredit{newReference(), map[core.Key]int64{}} }, "GiveOfNothing"},
	{"givesAgainAfterReset", givesAgainAfterReset, "GiveAfterReset"},
	{"keepsReceiptsOfDenials", keepsReceiptsOfDenials, "GiveOfADenial"},
	{"givesOneUnit", givesOneUnit, "GiveExtra"},
	{"givesTheFirst", func() core.Store { return givesTheFirst{newReference()} }, "GiveSeveral"},
	{"givesWithoutALock", func() core.Store { return givesWithoutALock{newReference()} }, "GiveStorm"},
	{"givesAfterWindow", givesAfterWindow, "GiveAfterTheWindow/fixed-window"},
	{"givesAfterWindow", givesAfterWindow, "GiveAfterTheWindow/sliding-log"},
	{"givesRefilled", givesRefilled, "GiveAfterRefill/token-bucket"},
	{"givesAfterWindow", givesAfterWindow, "GiveToTheVeryCell"},
	{"givesTurnsAlways", givesTurnsAlways, "GiveTurn"},
	{"givesOnlyTurns", givesOnlyTurns, "GiveTurn"},
	{"givesPlacesInTheMiddle", givesPlacesInTheMiddle, "GivePlace"},
	{"forgetsTheTimeOfRefunds", forgetsTheTimeOfRefunds, "GiveKeepsTime"},

	{"resetsTheFirst", func() core.Store { return resetsTheFirst{newReference()} }, "Reset/token-bucket"},
	{"resetsTheCaller", func() core.Store { return resetsTheCaller{newReference()} }, "Reset/sliding-log"},
	{"resetsUnderOneQuota", func() core.Store { return resetsUnderOneQuota{newReference()} }, "ResetAnyQuota"},
	{"resetKeepsBlock", func() core.Store { return resetKeepsBlock{newReference()} }, "ResetForgetsBlock"},
	{"resetKeepsBlock", func() core.Store { return resetKeepsBlock{newReference()} }, "ResetForgetsDenials"},
	{"resetWantsAPenalty", func() core.Store { return resetWantsAPenalty{newReference()} }, "ResetForgetsBlock"},

	{"penaltyComesLate", penaltyComesLate, "PenaltyBlocks"},
	{"peekIsPunished", func() core.Store { return peekIsPunished{newReference()} }, "PenaltyBlocks"},
	{"penaltyExtends", penaltyExtends, "PenaltyEnds"},
	{"penaltyCountsForever", penaltyCountsForever, "PenaltySpan"},
	{"penaltyForAnyDenial", func() core.Store { return penaltyForAnyDenial{newReference()} }, "PenaltyOfItsOwnDenials"},
	{"penaltyHidesTheQuota", penaltyHidesTheQuota, "PenaltyRetryAfter"},
	{"shadowPenalises", shadowPenalises, "PenaltyOfAShadow"},
	{"shadowHasNoPenalty", shadowHasNoPenalty, "PenaltyOfAShadow"},
	{"penaltyMissesSome", func() core.Store { return penaltyMissesSome{newReference(), map[core.Key]int64{}} }, "PenaltyStorm"},
	{"blockSpends", func() core.Store { return blockSpends{newReference()} }, "Block"},
	{"blockStays", func() core.Store { return blockStays{newReference()} }, "BlockReleases"},
	{"blockOnlyGrows", func() core.Store { return blockOnlyGrows{newReference()} }, "BlockAgain"},
	{"blockRoundsUp", func() core.Store { return blockRoundsUp{newReference()} }, "BlockEnds"},

	{"keepsTheFirstQuota", keepsTheFirstQuota, "LowerKeepsSpent/token-bucket"},
	{"remainingBelowZero", remainingBelowZero, "LowerKeepsSpent/fixed-window"},
	{"refillsOnQuotaChange", refillsOnQuotaChange, "RaiseLetsTheDifferenceThrough/sliding-log"},
	{"countsDenials", countsDenials, "RaiseLetsTheDifferenceThrough/fixed-window"},
	{"forgetsWhenThePeriodChanges", forgetsWhenThePeriodChanges, "PeriodKeepsSpent/sliding-window"},
	{"forgetsWhenThePeriodChanges", forgetsWhenThePeriodChanges, "RolloutOfAPeriod/fixed-window"},
	{"agesNever", agesNever, "RolloutDeniesNobodyForEver/sliding-log"},
	{"forgivesWhenLowered", forgivesWhenLowered, "LowerKeepsSpent/leaky-bucket"},
	{"keepsTheFirstBurst", keepsTheFirstBurst, "BurstChanges"},
	{"forgetsWhenAlignmentChanges", forgetsWhenAlignmentChanges, "AlignmentChanges"},
	{"stopsWhenLowered", stopsWhenLowered, "LoweredRateStillFlows"},
	{"retryAtMostTheWindow", retryAtMostTheWindow, "RetryAfterALoweredQuota/token-bucket"},
	{"ignoresAlgorithmChange", ignoresAlgorithmChange, "AnotherAlgorithm"},

	{"modifiesCharges", modifiesCharges, "ChargesAreNotModified"},
	{"retainsSlices", func() core.Store { return &retainsSlices{reference: newReference()} }, "SlicesAreNotRetained"},
	{"retainsResults", func() core.Store { return &retainsResults{reference: newReference()} }, "SlicesAreNotRetained"},
	{"leaksResults", func() core.Store { return leaksResults{newReference()} }, "ResultsAreOverwritten"},

	{"hidesItsSplits", func() core.Store { return hidesItsSplits{newReference()} }, "TraitsAreDeclared"},
	{"grantsWhenCanceled", func() core.Store { return grantsWhenCanceled{newReference()} }, "CanceledContext"},
	{"failsLikeAnyone", func() core.Store { return failsLikeAnyone{newReference()} }, "CanceledContext"},
	{"deniesSpending", func() core.Store { return deniesSpending{newReference()} }, "CanceledContext"},
	{"closesOnce", func() core.Store { return &closesOnce{reference: newReference()} }, "CloseTwice"},
	{"opensWhenClosed", func() core.Store { return &opensWhenClosed{reference: newReference()} }, "CloseInUse"},

	{"wrongOnceInAWhile", wrongOnceInAWhile, "Walk"},
	{"wrongOnceInAWhile", wrongOnceInAWhile, "WalkOfManyKeys"},
}

// A suite that cannot fail proves nothing.
func TestSuiteCatches(t *testing.T) {
	cases := map[string]Case{}
	for _, c := range Cases() {
		cases[c.Name] = c
	}
	for _, tt := range faulty {
		t.Run(tt.name+"/"+tt.by, func(t *testing.T) {
			c, ok := cases[tt.by]
			if !ok {
				t.Fatalf("no case is called %q", tt.by)
			}
			h := Harness{New: func(testing.TB) core.Store { return tt.make() }, Virtual: true}
			err := h.Check(t, c)
			if err == nil {
				t.Fatalf("the store passes %s, whose rule is: %s", tt.by, c.Rule)
			}
			t.Log(err)
		})
	}
}

// Every case exists to catch something.
func TestEveryCaseCatches(t *testing.T) {
	caught := map[string]bool{}
	for _, tt := range faulty {
		caught[area(tt.by)] = true
	}
	for _, c := range Cases() {
		if !caught[area(c.Name)] {
			t.Errorf("no faulty store is there to be caught by %s", c.Name)
		}
		if c.Rule == "" || !strings.HasSuffix(c.Rule, ".") {
			t.Errorf("the rule of %s is %q, want a sentence", c.Name, c.Rule)
		}
	}
}

// area returns the name of a case without its algorithm.
func area(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

func TestCaseNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases() {
		if seen[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		seen[c.Name] = true
	}
}
