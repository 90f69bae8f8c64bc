import Backstitch
import BackstitchCore
import BackstitchHubCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchSync
@testable import BackstitchTesting

@Entity("Errand") private struct Errand {
    var id = ID()
    var name: String
}

/// What a program shows of an error that it knows only as `any Error`.
@Suite(.budgeted) struct ErrorDescriptionTests {
    private let message = "The folder 'A. b' has no space. Free some. Then try again."

    /// One error of each code of each type, all with the message.
    private var errors: [any BackstitchError] {
        let store: [StoreError.Code] = [
            .notAStore, .newerFormat, .damaged, .inaccessible, .openOtherwise, .busy,
            .closed, .invalidSchema, .migrationFailed, .unknownEntity, .notFound, .notInLog,
            .alreadyExists, .notUnique, .unsynced, .invalidName, .invalidValue, .tooLarge,
            .unreadable, .changedSince, .deleteDenied, .invalidQuery, .invalidTarget,
            .unknownProjection, .projectionNotReady, .projectionFailed, .invalidProjection,
            .nestedWrite, .full, .notHere, .assetMissing, .assetCorrupt, .outcomeUnknown, .io,
        ]
        let sync: [SyncError.Code] = [
            .unreachable, .blocked, .suspended, .invalidConfiguration, .store, .storeFull, .standby,
            .cancelled, .offline, .stopped,
        ]
        let query: [QueryError.Code] = [
            .unsupportedExpression, .unknownEntity, .unknownAttribute, .typeMismatch,
            .negativeCount, .unwrappedNil, .arithmeticOverflow, .foreignCursor, .damagedRow,
        ]
        let hub: [HubError.Code] = [
            .invalid, .notFound, .alreadyExists, .busy, .wrongFormat, .damaged, .inaccessible,
        ]
        var errors: [any BackstitchError] = []
        for code in store { errors.append(StoreError(code, message)) }
        for code in sync { errors.append(SyncError(code, message)) }
        for code in query { errors.append(QueryError(code, message)) }
        for code in hub { errors.append(HubError(code, message)) }
        for code in ServiceError.Code.allCases { errors.append(ServiceError(code, message)) }
        return errors
    }

    @Test func `the localized description of every error is its message`() {
        #expect(errors.count > 70)
        for error in errors {
            let thrown: any Error = error
            #expect(thrown.localizedDescription == message, "\(type(of: error)) \(error.code)")
        }
    }

    @Test func `the first sentence says what went wrong, and the others what to do`() {
        for error in errors {
            #expect(error.failureReason == "The folder 'A. b' has no space.")
            #expect(error.recoverySuggestion == "Free some. Then try again.")
        }
        let short = StoreError(.io, "The disk failed")
        #expect(short.failureReason == "The disk failed" && short.recoverySuggestion == nil)
        let closed = StoreError(.io, "The disk failed.")
        #expect(closed.failureReason == "The disk failed." && closed.recoverySuggestion == nil)
    }

    @Test func `an error of a service without words is told by its code`() {
        let error = ServiceError(.zoneBusy)
        #expect(error.localizedDescription == "zoneBusy")
        #expect(error.failureReason == nil && error.recoverySuggestion == nil)
    }

    @Test func `errors that calls throw have their message as localized description`() throws {
        let store = try Store.inMemory(schema: StoreSchema(Errand.self))
        store.close()
        let closed = #expect(throws: StoreError.self) { try store.read { try $0.lastSequence } }
        #expect(closed?.localizedDescription == "The store is closed. Open it again.")
        #expect(closed?.recoverySuggestion == "Open it again.")
        let first = try PositionKey.between(nil, nil, jitter: 7)
        let second = try PositionKey.between(first, nil, jitter: 7)
        let order = #expect(throws: PositionKey.Failure.self) {
            try PositionKey.between(second, first, jitter: 7)
        }
        #expect(order?.localizedDescription == order?.message)
    }

    @Test func `engines that never rest are told with a description`() {
        let error = NotQuiet(turns: 3, engines: 2)
        #expect(error.localizedDescription == error.description)
    }
}
