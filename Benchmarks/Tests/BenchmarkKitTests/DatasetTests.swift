import BenchmarkKit
import PeerInterface
import Testing

@Suite("Data sets")
struct DatasetTests {
    private static func key(_ id: IDBytes) -> [UInt8] {
        withUnsafeBytes(of: id) { Array($0) }
    }

    @Test("the generator gives the numbers of its definition")
    func splitMix() {
        var random = SplitMix(seed: 1_234_567)
        #expect(random.next() == 6_457_827_717_110_365_317)
        #expect(random.next() == 3_203_168_211_198_807_973)
    }

    @Test("a seed gives the same contacts, and another seed others")
    func seeds() {
        let first = Dataset(records: 1_000, saves: 10, seed: 7)
        #expect(first.digests == Dataset(records: 1_000, saves: 10, seed: 7).digests)
        #expect(first.digests != Dataset(records: 1_000, saves: 10, seed: 8).digests)
        #expect(first.people.count == 1_030)
    }

    @Test("ids ascend, emails are unique, and every update changes its contact")
    func contents() {
        let data = Dataset(records: 1_000, saves: 10, seed: 3)
        let keys = data.people.map { Self.key($0.id) }
        #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
        #expect(Set(data.people.map(\.email)).count == data.people.count)
        #expect(data.updateOrder.sorted() == Array(0..<1_000))
        #expect(zip(data.digests, data.updatedDigests).filter { $0 == $1 }.count == 30)
        #expect(data.people.allSatisfy { $0.age >= 0 && $0.age < 1_000 })
    }

    @Test("values in C are those in Swift")
    func bridge() {
        let data = Dataset(records: 100, saves: 0, seed: 5)
        for (person, contact) in zip(data.people, data.contacts) {
            let email = UnsafeRawBufferPointer(
                start: contact.email.bytes, count: Int(contact.email.count))
            #expect(String(decoding: email, as: UTF8.self) == person.email)
            #expect(contact.balance == person.balance)
            #expect(Self.key(contact.id) == Self.key(person.id))
        }
    }

    @Test("queries find what they should: about a hundred rows, and fifty sorted ones")
    func questions() {
        let data = Dataset(records: 10_000, saves: 0, seed: 9)
        let questions = Questions(data, seed: 1)
        let low = questions.ages[0]
        let inRange = data.people.filter { $0.age >= low && $0.age < low + 100 }.count
        #expect((50...200).contains(inRange))
        let rich = data.people.filter { $0.balance >= questions.balances[0] }.count
        #expect((50...200).contains(rich))
        for kind in Questions.Kind.allCases {
            #expect(questions.sum(kind) != 0)
            #expect(questions.count(kind) > 0)
        }
        #expect(questions.gets.count == 10_000)
    }

    @Test("the digest sees every field, and the sum of a row does not depend on others")
    func digests() {
        let data = Dataset(records: 10, saves: 0, seed: 2)
        var contact = data.contacts[0]
        var row = peer_row()
        contact.active.toggle()
        #expect(peer_row_fill(&row, &contact) == 0)
        #expect(peer_digest(&row) != data.digests[0])
        #expect(peer_touch(5, &row, 1) == 5 &+ peer_touch(0, &row, 1))
    }
}
