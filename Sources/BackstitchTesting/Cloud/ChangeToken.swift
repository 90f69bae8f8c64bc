/// What a change token stands for, and its text, which says nothing to a client.
package struct ChangeToken: Hashable, Sendable {
    /// What a token is for: they are not interchangeable.
    enum Kind: String, Sendable {
        case zone = "z"
        case database = "d"
    }

    var kind: Kind
    /// The server's epoch; another one after a restore or wipe.
    package var epoch: Int
    /// The zone's incarnation, or the number of the database.
    package var owner: Int
    /// Where the feed stood when the fetch that led to this token began. Deletions up to there
    /// don't matter to its holder.
    var origin: Int
    /// The position up to which the holder has seen the feed.
    package var sequence: Int
    /// The last commit of the server when the token was given out, or of what its holder wrote since.
    var mark: CommitHistory.Mark
    /// Whether it is the other of the two texts for the same place, which a stuck feed may give in turn.
    private var isTurned = false

    init(
        _ kind: Kind, epoch: Int, owner: Int, origin: Int, sequence: Int, mark: CommitHistory.Mark
    ) {
        self.kind = kind
        self.epoch = epoch
        self.owner = owner
        self.origin = origin
        self.sequence = sequence
        self.mark = mark
    }

    /// The run of the server that gave it out; another one after its data was put back.
    package var run: Int { mark.run }

    /// Reads a token; nil for text that no server gave out.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 8, let kind = Kind(rawValue: parts[0].lowercased()) else {
            return nil
        }
        var numbers: [Int] = []
        for part in parts[1...6] {
            guard let number = Int(part, radix: 36), number >= 0 else { return nil }
            numbers.append(number)
        }
        self.init(
            kind, epoch: numbers[0], owner: numbers[1], origin: numbers[2], sequence: numbers[3],
            mark: CommitHistory.Mark(run: numbers[4], number: numbers[5]))
        isTurned = parts[0] != kind.rawValue
        guard self.text == text else { return nil }
    }

    /// Reads the token that a client goes on from, in the feed that this token begins. It is one of the same
    /// place, and of this token's commit.
    ///
    /// - Returns: nil if the token is of another feed or of another life of this one, or if the feed
    ///   was not there yet or has forgotten what came since.
    func continued(at text: String, floor: Int) -> ChangeToken? {
        guard var sent = ChangeToken(text), sent.kind == kind, sent.epoch == epoch,
            sent.owner == owner, sent.sequence <= origin, max(sent.origin, sent.sequence) >= floor
        else { return nil }
        sent.mark = mark
        return sent
    }

    /// The token for the same place with another text.
    var turned: ChangeToken {
        var token = self
        token.isTurned.toggle()
        return token
    }

    /// The token as clients carry it.
    var text: String {
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        var text = isTurned ? kind.rawValue.uppercased() : kind.rawValue
        for number in [epoch, owner, origin, sequence, mark.run, mark.number] {
            text += "-" + String(number, radix: 36)
            digest = (digest ^ UInt64(truncatingIfNeeded: number)) &* 0x100_0000_01B3
        }
        return text + "-" + String(digest % 1_679_616, radix: 36)
    }
}
