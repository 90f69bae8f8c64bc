import BackstitchCore
import Foundation
import TestBudget
import Testing

@Suite(.budgeted) struct PushItemTests {
    private func bytes(_ value: ServiceValue) -> Int {
        let fields: NamedFields = ["f": value]
        return PushItem(.create(recordName: "a", recordType: "T", fields: fields)).byteCount
            - PushItem(.create(recordName: "a", recordType: "T", fields: [:])).byteCount
    }

    @Test func `a size is never below the bytes of its values`() {
        #expect(bytes(.string(String(repeating: "é", count: 100))) >= 200)
        #expect(bytes(.bytes(Data(count: 300))) >= 400)
        #expect(bytes(.list([.int64(1), .int64(2)])) >= 16)
        #expect(bytes(.reference(ServiceReference(recordName: "target", action: .none))) >= 6)
        #expect(bytes(.null) > 0)
    }

    @Test func `every operation has a size of its own`() {
        let long = String(repeating: "n", count: 200)
        #expect(PushItem(.delete(recordName: long, changeTag: "tag")).byteCount > 200)
        #expect(Push.update("a").byteCount > Push.delete("a").byteCount)
    }
}
